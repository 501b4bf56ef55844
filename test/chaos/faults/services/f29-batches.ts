import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import {
  type BatchPartRequested,
  checkRequestedBatch,
  PART_ENTRIES_MAX,
} from '#shared/contracts/batches/batch.ts';
import type { BatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { aBatchPart } from '../../../support/builders/a-batch.ts';
import { receiveWebhooks } from '../../../support/fakes/receive-webhooks.ts';
import type { BatchLine } from '../../../support/infrastructure/connect-test-chains.ts';
import { makeBatchClient } from '../../../support/systems/batch-client.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { type EntryCounts, entryFigures, judgeCounts } from '../../judges/judge-batch.ts';
import { atMost, begunIn, type Span, timesBaseline } from '../../judges/measure.ts';
import { BATCH_MS_MAX, runBatch } from '../../load/run-batch.ts';
import type { ChaosSystem } from '../../system/chaos-system.ts';
import { createApp } from '../../system/create-app.ts';

const ENTRIES = 20_000;
const VICTIMS = ['gateway', 'evaluator', 'result-store', 'webhook-dispatcher', 'kafka', 'redis'] as const;
/** A gateway is still reading a batch this long after its first byte. */
const READING_MS = 50;
/** The pause between a batch and the next one, until a fault is over. */
const REST_MS = 1_000;

export const f29Batches: Fault = {
  id: 'F29',
  title:
    'each process killed in the middle of a batch of 20 000 entries, broker and Redis too; one poisoned part',
  async run({ system, ledger, seconds, rest, scope }) {
    // A separate app, because the load's app may only be charged for the load.
    const app = await createApp(system, 'Batches');
    const receiver = scope.use(await receiveWebhooks({ secret: app.webhookSecret }));
    const client = makeBatchClient({ url: system.gateways[0]?.url ?? '', apiKey: app.apiKey });
    const baseline = await rest(seconds * 500);
    const broken: string[] = [];
    const faultSpans: Span[] = [];
    const finished: BatchStatus[] = [];
    const counted: EntryCounts[] = [];
    for (const victim of VICTIMS) {
      const fromMs = Date.now();
      const { status, counts, faults } = await runBatch({
        ...{ chain: system.chain, client, callbackUrl: receiver.url, entries: ENTRIES },
        // A gateway is killed while it reads the body; other processes once the batch is running.
        async injectFault(accepted) {
          await (victim === 'gateway' ? delay(READING_MS) : accepted);
          system.signal(victim, 'SIGKILL', 0);
        },
      });
      finished.push(status);
      counted.push(counts);
      broken.push(...faults.map((fault) => `${victim}: ${fault}`));
      faultSpans.push({ fromMs, toMs: Date.now() });
      await system.waitUntilReady();
      await rest(REST_MS);
    }
    broken.push(...(await poisonOne(system, app.clientId)));
    for (const status of finished) {
      const { body } = await receiver.waitFor(
        ({ requestId }) => requestId === status.requestId,
        BATCH_MS_MAX,
      );
      const expected = JSON.stringify({ type: 'batch.completed', ...status });
      const copies = receiver.deliveries.filter(({ requestId }) => requestId === status.requestId);
      if (copies.some((copy) => copy.body !== body || !copy.verified) || body !== expected)
        broken.push(`the webhook of ${status.requestId} differs from its status`);
    }
    const syncTimes = (span: Span) =>
      begunIn(ledger.attempts, span).flatMap(({ mode, resultMs }) =>
        mode === 'sync' && resultMs !== undefined ? [resultMs] : [],
      );
    const slowestS = Math.max(...faultSpans.map(({ fromMs, toMs }) => toMs - fromMs)) / 1_000;
    return () => ({
      figures: [
        ...entryFigures(counted),
        timesBaseline("others' sync p99", faultSpans.flatMap(syncTimes), syncTimes(baseline), 2),
        atMost('slowest batch, the fault included', slowestS, 60, 's'),
      ],
      broken,
    });
  },
};

/** Publishes a part that matches no schema, beside a valid one: its entries fail, and the others
 * are decided. */
async function poisonOne(
  { open, chain }: Pick<ChaosSystem, 'open' | 'chain'>,
  clientId: string,
): Promise<string[]> {
  const rules = [{ type: 'NATIVE', chainId: chain.chainId, roleId: 'rich', minToken: '1' }] as const;
  const entries = Array.from({ length: PART_ENTRIES_MAX }, () => ({ account: chain.holder }));
  const part = aBatchPart(clientId, { entries, rules: [...rules], entryCount: 2 * PART_ENTRIES_MAX });
  const { requestId } = part;
  const second: BatchPartRequested = { ...part, part: 1, firstIndex: PART_ENTRIES_MAX };
  await open.kafka.publish(checkRequestedBatch, part);
  await open.kafka.publishRecord(checkRequestedBatch.name, {
    key: `${requestId}/1`,
    value: JSON.stringify({ ...second, onUndetermined: 'perhaps' }),
  });
  const status = await waitUntil('the end of the poisoned batch', async () => {
    const found = await open.batches.readStatus(requestId);
    return found?.status === 'completed' && found;
  });
  const linesAt = async (index: number) => {
    const found = await open.batches.readPart(requestId, index);
    const text = found === undefined ? '' : gunzipSync(found.gzip).toString().trimEnd();
    return text.split('\n').map((line) => JSON.parse(line) as BatchLine);
  };
  const [sound, poisoned] = [await linesAt(0), await linesAt(PART_ENTRIES_MAX)];
  const isFailed = ({ status: ended, errors }: BatchLine) =>
    ended === 'failed' && errors[0]?.code === 'internal';
  return [
    ...(poisoned.length === PART_ENTRIES_MAX && poisoned.every(isFailed)
      ? []
      : ['the poisoned part did not fail']),
    ...(sound.every(({ roles }) => roles[0]?.granted)
      ? []
      : ['the part beside the poisoned one was affected']),
    ...judgeCounts(status, [...sound, ...poisoned]),
  ];
}
