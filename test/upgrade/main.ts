import { checkOutEarlier, EARLIER_COMMIT } from './earlier-version.ts';
import { restartOnData } from './restart-on-data.ts';
import { rollUnderLoad } from './roll-under-load.ts';
import type { Run } from './run.ts';
import { makeTally } from './tally.ts';

// Upgrades a system of an earlier version to this one, and checks that no data is lost. It exits with 1 where
// something is missing.
//
//   node test/upgrade/main.ts [restart] [roll]

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const PARTS: Readonly<Record<string, (run: Run) => Promise<void>>> = {
  restart: restartOnData,
  roll: rollUnderLoad,
};
/** As a shell says that a program ended by Ctrl-C. */
const INTERRUPTED = 130;

const scope = new AsyncDisposableStack();
const end = () => scope.disposeAsync().finally(() => process.exit(INTERRUPTED));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in PARTS));
if (unknown.length > 0)
  throw new Error(`there is no part ${unknown.join(', ')}; the parts are ${Object.keys(PARTS).join(', ')}`);

const began = performance.now();
const tally = makeTally(say);
try {
  const earlier = scope.use(await checkOutEarlier());
  say(`${EARLIER_COMMIT} is prepared after ${((performance.now() - began) / 1_000).toFixed(0)} s`);
  for (const [name, upgrade] of Object.entries(PARTS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    await using started = new AsyncDisposableStack();
    scope.defer(() => started.disposeAsync());
    await upgrade({ earlier, tally, say, scope: started });
  }
} finally {
  await scope.disposeAsync();
}
say(`${tally.passed()} passed, ${tally.failed()} failed`);
process.exitCode = tally.failed() === 0 ? 0 : 1;
// The load may still hold a socket.
process.exit();
