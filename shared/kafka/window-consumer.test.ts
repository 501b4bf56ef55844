import type { EachBatchPayload, KafkaMessage } from 'kafkajs';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { WindowConsumer, type WindowSource, type WindowWork } from './window-consumer.ts';

const WINDOW = 10_000;
/** More than a call stack is deep; of one partition as many may be parked. */
const BACKLOG = 15_000;

/** A consumer that was assigned one partition, and what hands it a batch. */
async function startConsumer(work: WindowWork<unknown>['work']) {
  let eachBatch = async (_: EachBatchPayload): Promise<void> => undefined;
  const events = { GROUP_JOIN: 'join', CRASH: 'crash', FETCH_START: 'fetch' };
  const source = {
    events,
    on: (event: string, listen: (of: unknown) => void) => {
      if (event === events.GROUP_JOIN)
        setImmediate(listen, { payload: { memberId: 'm', memberAssignment: { t: [0] } } });
    },
    connect: async () => undefined,
    subscribe: async () => undefined,
    run: async (options: { eachBatch: typeof eachBatch }) => {
      eachBatch = options.eachBatch;
    },
    pause: () => undefined,
    resume: () => undefined,
    commitOffsets: async () => undefined,
    disconnect: async () => undefined,
  } as unknown as WindowSource;
  const consumer = new WindowConsumer(source, {
    topics: ['t'],
    window: WINDOW,
    log: makeSilentLogger(),
    fail: (error) => {
      throw error;
    },
    onAssignment: () => undefined,
    onCrash: () => undefined,
    readCommitted: async () => new Map(),
    look: () => ({ message: undefined, error: undefined, dueAt: 0 }),
    work,
    now: Date.now,
  });
  await consumer.start();
  const accept = (count: number) => {
    const messages = Array.from({ length: count }, (_, i) => ({
      ...{ key: Buffer.from(`k${i}`), value: Buffer.from('{}'), offset: String(i) },
    })) as KafkaMessage[];
    const batch = { topic: 't', partition: 0, messages, highWatermark: String(count) };
    void eachBatch({ batch } as EachBatchPayload);
  };
  return { accept, [Symbol.asyncDispose]: () => consumer.stop(0) };
}

test('a long backlog whose every record begins by waiting is begun, to the last', async () => {
  let begun = 0;
  await using consumer = await startConsumer(async (_, __, ___, park) => {
    begun++;
    const left = Promise.withResolvers<boolean>();
    park(() => left.resolve(false));
    return left.promise;
  });
  consumer.accept(BACKLOG);
  await waitUntil('all to be begun', () => begun === BACKLOG);
});

test('a backlog is begun in parts: the event loop has its turns between them', async () => {
  let begun = 0;
  await using consumer = await startConsumer(async () => {
    begun++;
    return true;
  });
  consumer.accept(1_000);
  // All that follows in this turn: a record that ends makes room for the next one.
  for (let i = 0; i < 10_000; i++) await undefined;
  expect(begun).toBeLessThan(1_000);
  await waitUntil('all to be begun', () => begun === 1_000);
});
