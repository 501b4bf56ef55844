import { startChaosSystem } from './chaos-system.ts';
import { f00None } from './faults/f00-none.ts';
import { f02KillEvaluators } from './faults/f02-kill-evaluators.ts';
import { runRow } from './run-row.ts';

{
  await using system = await startChaosSystem(18000, {});
  for (const f of [f00None, f02KillEvaluators])
    console.log(JSON.stringify(await runRow(f, system, { seconds: 10, seed: 1 }), null, 1));
}
process.exit(0);
