import assert from 'node:assert/strict';
import type { Fault, Scene } from '../chaos/fault.ts';
import { atMost } from '../chaos/measure.ts';
import { createApp } from '../chaos/parts/create-app.ts';
import { runRow } from '../chaos/run-row.ts';
import { demoRules } from '../support/builders/demo-rules.ts';
import { makeBatchClient } from '../support/systems/batch-client.ts';
import { findPortBase } from '../support/systems/start-system.ts';
import { type RollingSystem, startRollingSystem } from './rolling-system.ts';
import type { Run } from './run.ts';

/** A third of the fault matrix's load: three brokers share the machine with it, and starts take most of its CPU. */
const PER_SECOND = 30;
/**
 * As in `deploy/README.md`: the result-store rebuilds the views, if their form has changed, and consumers read messages of
 * their version and of the one before, so they come before producers.
 */
const ORDER = ['result-store', 'developer-portal', 'webhook-dispatcher', 'evaluator', 'gateway'] as const;
/** The watcher needs evaluators of its own version, and comes before the gateways that accept watches. */
const WATCHER_AFTER = 'evaluator';
const SETTLE_MS = 5_000;
const BATCH_TIMEOUT_MS = 60_000;
const PROMISES = [
  ...['lost', 'undelivered', 'unexpected', 'contradictory', 'wrong', 'unverified'],
  ...['early', 'leaked', 'miscounted', 'own'],
] as const;

/** Replaces the processes of the earlier version one by one under load, and accounts for every check. */
export async function rollUnderLoad({ earlier, tally, say, scope }: Run): Promise<void> {
  const system = scope.use(await startRollingSystem(await findPortBase(), earlier));
  say('the earlier version is ready on three brokers');
  const report = await runRow(roll(system, say), system, {
    seconds: 0,
    seed: 0,
    perSecond: PER_SECOND,
    timesDecide: false,
  });
  const { counts, figures, broken } = report;
  say(`${counts.acknowledged} of ${counts.attempts} checks accepted, ${counts.duplicates} delivered again`);
  for (const { what, measured, goal } of figures) say(`${what}: ${measured} (${goal})`);
  for (const promise of PROMISES)
    await tally.check(`a rolling upgrade: ${promise} is 0`, () =>
      assert.deepEqual(broken[promise] ?? [], []),
    );
}

/** A row of the fault matrix whose fault is the upgrade. */
const roll = (system: RollingSystem, say: Run['say']): Fault => ({
  id: 'upgrade',
  title: 'rolling upgrade from the earlier version',
  async run({ ledger, rest }) {
    await system.applyTopics();
    // It rebuilds the views, and the earlier one stores results meanwhile.
    await system.startBeside('result-store');
    const tookMs: number[] = [];
    for (const service of ORDER) {
      const began = performance.now();
      await system.upgrade(service);
      tookMs.push(performance.now() - began);
      say(`${service} is upgraded`);
      if (service === WATCHER_AFTER) await system.startBeside('watcher');
    }
    await rest(SETTLE_MS);
    const lines = await batch(system);
    return ({ counts, evaluatedAgain }) => {
      const failed = ledger.attempts.filter(({ status = 0 }) => status >= 500);
      const cut = ledger.attempts.filter(({ status }) => status === undefined);
      return {
        figures: [
          atMost('slowest upgrade of a service', Math.max(...tookMs) / 1_000, 60, 's'),
          atMost('delivered again', counts.duplicates, 0),
          atMost('evaluated again', evaluatedAgain, 0),
        ],
        broken: [
          ...system.restarts(),
          ...(failed.length > 0 ? [`${failed.length} × ${failed[0]?.status} ${failed[0]?.code}`] : []),
          ...(cut.length > 0 ? [`${cut.length} connections cut`] : []),
          ...(lines === 2 ? [] : [`${lines} lines of a batch of 2`]),
        ],
      };
    };
  },
});

/** A request that only this version accepts, once every process runs it. */
async function batch(system: Scene['system']): Promise<number> {
  const { apiKey } = await createApp({ dataDir: system.dataDir }, 'Batch');
  const batches = makeBatchClient({ url: system.gateways[0]?.url ?? '', apiKey });
  const { holder, stranger } = system.chain;
  const requestId = await batches.post({ rules: [demoRules(system.chain).erc20()] }, [holder, stranger]);
  await batches.wait(requestId, BATCH_TIMEOUT_MS);
  return (await batches.lines(requestId)).length;
}
