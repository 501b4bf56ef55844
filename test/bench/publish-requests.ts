import { randomUUID } from 'node:crypto';
import { type Message, Partitioners } from 'kafkajs';
import { CheckRequested, checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import { makeKafka } from './make-kafka.ts';
import type { Workload } from './workload.ts';

const BATCH = 2_000;
const RETAINED_MS = 3_600_000;

/** Publishes checks as the gateway does, into chosen partitions. */
type PublishOptions = {
  readonly brokers: string;
  readonly workload: Workload;
  readonly from: number;
  readonly count: number;
  /** The partitions, used in turn. */
  readonly partitions: readonly number[];
  /** Epoch ms after which nothing more is sent; default never. */
  readonly until?: number;
  /** How old the records are by their timestamps, ms; default 0. */
  readonly ageMs?: number;
};

/** Publishes checks directly into the bulk lane; the request ids by position. */
export async function publishRequests(options: PublishOptions): Promise<string[]> {
  const { brokers, workload, from, count, partitions, until = Number.POSITIVE_INFINITY, ageMs = 0 } = options;
  const producer = makeKafka(brokers).producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  const requestIds: string[] = [];
  try {
    while (requestIds.length < count && Date.now() < until) {
      const messages: Message[] = [];
      const here = Math.min(BATCH, count - requestIds.length);
      const timestamp = String(Date.now() - ageMs);
      for (let i = 0; i < here; i++) {
        const place = requestIds.length;
        const requestId = randomUUID();
        messages.push({
          key: requestId,
          value: requestOf(requestId, workload, from + place),
          partition: partitions[place % partitions.length] ?? 0,
          headers: { 'rolecall-schema': '1' },
          timestamp,
        });
        requestIds.push(requestId);
      }
      await producer.send({ topic: checkRequestedBulk.name, acks: -1, messages });
    }
  } finally {
    await producer.disconnect();
  }
  return requestIds;
}

function requestOf(requestId: string, workload: Workload, index: number): string {
  const { account, rules } = workload.checkAt(index);
  const now = Date.now();
  const request: CheckRequested = {
    requestId,
    clientId: 'app_bench',
    accountId: 'acc_bench',
    account,
    rules: rules.map((rule) => CheckRequested.shape.rules.element.parse({ minToken: '1', ...rule })),
    onUndetermined: 'omit',
    consistency: { blockTag: 'latest', minBlock: {} },
    delivery: { mode: 'poll' },
    acceptedAt: new Date(now).toISOString(),
    retainUntil: new Date(now + RETAINED_MS).toISOString(),
  };
  return JSON.stringify(request);
}
