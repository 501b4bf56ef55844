import { randomBytes } from 'node:crypto';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { demoRules } from '../../../support/builders/demo-rules.ts';
import type { CheckMode } from '../../../support/judges/ledger.ts';
import { type BatchClient, makeBatchClient } from '../../../support/systems/batch-client.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { countEntries, entryFigures, judgeBatch } from '../../judges/judge-batch.ts';
import { atMost, begunIn, resultTimes, type Span, timesBaseline } from '../../judges/measure.ts';
import type { ChaosSystem } from '../../system/chaos-system.ts';
import { createApp } from '../../system/create-app.ts';
import { metricsOf, sumOf, watchProcesses } from '../../system/process-facts.ts';

const BIG_ENTRIES = 100_000;
const SMALL_ENTRIES = 1_000;
/** While the small batch is worked, so many entries of the big one may be done; it is sent while
 * more than these are left. */
const DONE_BESIDE_MAX = 50_000;
const HOLDER_EVERY = 10;
const HEAP_MIB = 256;
const SERVICES = ['gateway', 'evaluator', 'result-store'] as const;
/** The heap, and as much again for code, buffers and uncollected garbage. */
const RSS_MIB_MAX = 2 * HEAP_MIB;
const BATCH_MS_MAX = 240_000;

export const f30BigBatch: Fault = {
  id: 'F30',
  title: `a batch of 100 000 entries beside other clients, on heaps of ${HEAP_MIB} MB; then another client's batch of 1 000`,
  needs: { heap: { mib: HEAP_MIB, services: SERVICES } },
  async run({ system, ledger, seconds, rest, scope }) {
    const { erc20, erc721, native } = demoRules(system.chain);
    const rules = [
      erc20({ roleId: 'amount', minToken: '1500.5' }),
      erc721({ roleId: 'collector' }),
      native({ roleId: 'rich', minToken: '1' }),
    ];
    const clientAt = async (name: string, place: number) =>
      makeBatchClient({
        url: system.gateways[place]?.url ?? '',
        apiKey: (await createApp(system, name)).apiKey,
      });
    const [big, small] = [await clientAt('Big batch', 0), await clientAt('Small batch', 1)];
    const [bigAccounts, smallAccounts] = [BIG_ENTRIES, SMALL_ENTRIES].map((count) =>
      accountsOf(system.chain.holder, count),
    );
    const baseline = await rest(seconds * 1_000);
    const pids = SERVICES.flatMap((service) => system.running(service).map(({ pid }) => pid));
    const lane = watchLane(system);
    const watched = scope.use(watchProcesses(system, lane.sample));
    const fromMs = Date.now();
    const bigId = await big.post({ rules }, bigAccounts ?? []);
    // The second gateway then knows which partitions are free: two clients share some.
    await waitUntil(
      'the lag of the lane, or the end',
      async () => lane.max.lag > 0 || (await big.status(bigId)).status === 'completed',
    );
    const { done: doneBefore } = await big.status(bigId);
    const smallId = await small.post({ rules }, smallAccounts ?? []);
    await small.wait(smallId, BATCH_MS_MAX);
    const doneBeside = (await big.status(bigId)).done - doneBefore;
    await big.wait(bigId, BATCH_MS_MAX);
    const underFault: Span = { fromMs, toMs: Date.now() };
    const judged = [
      await judge(big, bigId, bigAccounts ?? [], system.chain.holder),
      await judge(small, smallId, smallAccounts ?? [], system.chain.holder),
    ];
    await watched.stop();
    const survivors = SERVICES.flatMap((service) => system.running(service).map(({ pid }) => pid));
    const timesIn = (span: Span, mode: CheckMode) =>
      resultTimes(begunIn(ledger.attempts, span).filter((attempt) => attempt.mode === mode));
    return () => ({
      figures: [
        ...entryFigures(judged.map(({ counts }) => counts)),
        timesBaseline("others' sync p99", timesIn(underFault, 'sync'), timesIn(baseline, 'sync'), 2),
        timesBaseline("others' poll result p99", timesIn(underFault, 'poll'), timesIn(baseline, 'poll'), 2),
        atMost('big batch, first byte to completed', (underFault.toMs - underFault.fromMs) / 1_000, 60, 's'),
        atMost('entries of the big batch done beside the small one', doneBeside, DONE_BESIDE_MAX),
        ...SERVICES.map((service) =>
          atMost(`memory of ${service}`, watched.rssMax(service), RSS_MIB_MAX, 'MiB'),
        ),
      ],
      broken: [
        ...judged.flatMap(({ faults }) => faults),
        ...(pids.every((pid) => survivors.includes(pid)) ? [] : ['a process did not survive the batch']),
        ...(doneBefore < BIG_ENTRIES - DONE_BESIDE_MAX
          ? []
          : ['the small batch was sent too late to be judged']),
        ...(doneBeside <= DONE_BESIDE_MAX ? [] : [`the small batch waited for ${doneBeside} entries`]),
        ...(lane.max.lag > 0 ? [] : ['the lag of the lane was never shown']),
        ...(lane.max.age > 0 ? [] : ['the age of the lane was never shown']),
        ...(lane.max.inProgress >= 2 ? [] : ['the batches in progress were never shown']),
      ],
    });
  },
};

const accountsOf = (holder: string, count: number): string[] =>
  Array.from({ length: count }, (_, place) =>
    place % HOLDER_EVERY === 0 ? holder : `0x${randomBytes(20).toString('hex')}`,
  );

async function judge(client: BatchClient, requestId: string, accounts: readonly string[], holder: string) {
  const status = await client.status(requestId);
  const lines = await client.lines(requestId);
  const counts = countEntries(lines, accounts, holder);
  return { counts, faults: judgeBatch(status, lines, counts) };
}

/** The highest figures of the lane. */
function watchLane({ gateways }: ChaosSystem) {
  const max = { lag: 0, age: 0, inProgress: 0 };
  return {
    max,
    async sample() {
      // The second gateway, which gets the small batch.
      const metrics = await metricsOf(gateways[1]?.ops ?? '');
      const lag = sumOf(metrics, 'rolecall_consumer_lag', `group="${CONSUMER_GROUPS.batchLane}"`);
      max.lag = Math.max(max.lag, lag);
      max.age = Math.max(max.age, sumOf(metrics, 'rolecall_oldest_unfinished_seconds', 'lane="batch"'));
      max.inProgress = Math.max(max.inProgress, sumOf(metrics, 'rolecall_batches_in_progress'));
    },
  };
}
