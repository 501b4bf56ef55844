import type { EachBatchPayload, KafkaMessage } from 'kafkajs';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { WindowConsumer, type WindowOptions, type WindowSource } from './window-consumer.ts';

/** More than a call stack is deep; as many records of one partition may be parked. */
const BACKLOG = 15_000;
/** The response in which all records are fetched. */
const RESPONSE = Buffer.alloc(1_024, '{}');

type Overrides = Partial<Pick<WindowOptions<unknown>, 'process' | 'parse' | 'now' | 'ownerOf'>> & {
  readonly window?: number;
  readonly readCommitted?: () => Promise<ReadonlyMap<string, number>>;
};

/** A consumer of one partition over a kafkajs consumer that the test drives. */
async function startConsumer(overrides: Overrides) {
  const events = { GROUP_JOIN: 'join', CRASH: 'crash' };
  const listeners = new Map<string, (event: unknown) => void>();
  const commits: string[] = [];
  const flow: string[] = [];
  let eachBatch = async (_: EachBatchPayload): Promise<void> => undefined;
  const source = {
    events,
    on: (event: string, listen: (of: unknown) => void) => void listeners.set(event, listen),
    connect: async () => undefined,
    subscribe: async () => undefined,
    run: async (options: { eachBatch: typeof eachBatch }) => {
      eachBatch = options.eachBatch;
      setImmediate(() => join('first'));
    },
    pause: () => void flow.push('pause'),
    resume: () => void flow.push('resume'),
    commitOffsets: async (offsets: { offset: string }[]) => {
      commits.push(...offsets.map(({ offset }) => offset));
    },
    disconnect: async () => undefined,
  } as unknown as WindowSource;
  const join = (memberId: string, partitions: readonly number[] = [0]) =>
    listeners.get('join')?.({ payload: { memberId, memberAssignment: { t: partitions } } });
  const started: number[] = [];
  const process = overrides.process ?? (async () => true);
  const consumer = new WindowConsumer(source, {
    topics: ['t'],
    window: 10_000,
    log: makeSilentLogger(),
    fail: (error) => {
      throw error;
    },
    onAssignment: () => undefined,
    onCrash: () => undefined,
    readCommitted: async () => new Map(),
    parse: () => ({ message: undefined, error: undefined, dueAtMs: 0 }),
    now: Date.now,
    ...overrides,
    process: (entry, ...rest) => {
      started.push(entry.offset);
      return process(entry, ...rest);
    },
  });
  await consumer.start();
  // The next tick: what is left of this one's time is not known.
  await new Promise(setImmediate);
  /** Hands over the records 0 to `count` - 1 of a partition that ends at `highWatermark`, as
   * kafkajs does. */
  const fetch = (count: number, highWatermark = count): Promise<void> => {
    const messages = Array.from({ length: count }, (_, i) => ({
      ...{ key: Buffer.from(`k${i}`), value: RESPONSE.subarray(0, 2), offset: String(i) },
    })) as KafkaMessage[];
    const batch = { topic: 't', partition: 0, messages, highWatermark: String(highWatermark) };
    return eachBatch({ batch } as EachBatchPayload);
  };
  const crash = (restart = true) =>
    listeners.get('crash')?.({ payload: { restart, error: new Error('gave up') } });
  return {
    ...{ consumer, started, commits, flow, fetch, join, crash },
    [Symbol.asyncDispose]: () => consumer.stop(0),
  };
}

/** Records whose processing ends when the test says so. */
function heldRecords() {
  const resolvers: (() => void)[] = [];
  const process = () => new Promise<boolean>((resolve) => resolvers.push(() => resolve(true)));
  const releaseAll = () => {
    for (const release of resolvers.splice(0)) release();
  };
  return { process, releaseAll };
}

test('starts every record of a long backlog whose records all begin by waiting', async () => {
  await using of = await startConsumer({
    process: async (_, __, park) => {
      const left = Promise.withResolvers<boolean>();
      park(() => left.resolve(false));
      return left.promise;
    },
  });
  void of.fetch(BACKLOG);
  await waitUntil('all records to start', () => of.started.length === BACKLOG);
});

test('an owner without room holds up no record of another owner behind its own, and keeps its order', async () => {
  const { process, releaseAll } = heldRecords();
  await using of = await startConsumer({
    ...{ window: 8, process },
    parse: ({ offset }) => ({ message: Number(offset), error: undefined, dueAtMs: 0 }),
    ownerOf: (offset) => (offset === 90 ? 'small' : 'large'),
  });
  void of.fetch(100);
  await waitUntil('the record of the other owner', () => of.started.includes(90));
  expect(of.started).toEqual([0, 1, 2, 90]);
  releaseAll();
  await waitUntil('the next records', () => of.started.length > 4);
  expect(of.started.slice(0, 6)).toEqual([0, 1, 2, 90, 3, 4]);
});

test('starts a backlog in parts, so that the event loop runs between them', async () => {
  await using of = await startConsumer({
    async process() {
      const endMs = performance.now() + 0.02;
      while (performance.now() < endMs);
      return true;
    },
  });
  void of.fetch(1_000);
  // All microtasks of this tick: a record that ends makes room for the next one.
  for (let i = 0; i < 10_000; i++) await undefined;
  expect(of.started.length).toBeLessThan(1_000);
  await waitUntil('all records to start', () => of.started.length === 1_000);
});

test('starts nothing while a rebalance settles, commits finished records, and continues after the join', async () => {
  const held = heldRecords();
  await using of = await startConsumer({ process: held.process, window: 2 });
  void of.fetch(3);
  expect(of.started).toEqual([0]);
  const settled = of.consumer.settle();
  expect(of.consumer.state).toBe('settling');
  held.releaseAll();
  await settled;
  expect({ started: of.started, commits: of.commits }).toEqual({ started: [0], commits: ['1'] });
  of.join('first');
  expect(of.consumer.state).toBe('consuming');
  await waitUntil('the next record to start', () => of.started.length > 1);
  expect(of.started).toEqual([0, 1]);
  held.releaseAll();
});

test('an account with many apps runs no more records than one share, and the next ones when these end', async () => {
  const held = heldRecords();
  await using of = await startConsumer({
    process: held.process,
    window: 100,
    parse: ({ offset }) => ({ message: Number(offset), error: undefined, dueAtMs: 0 }),
    ownerOf: (offset) => ({ accountId: 'acc_1', clientId: `app_${offset}` }),
  });
  void of.fetch(200);
  await waitUntil('the first records to start', () => of.started.length === 38);
  held.releaseAll();
  await waitUntil('further records to start', () => of.started.length === 76);
  held.releaseAll();
});

test('a crash for good fails the process, unless the consumer is stopping', async () => {
  const of = await startConsumer({});
  expect(() => of.crash(false)).toThrow('gave up');
  await of.consumer.stop(0);
  of.crash(false);
});

test('asks for the committed offsets after a crash, and repeats nothing that other members finished', async () => {
  const committed = Promise.withResolvers<ReadonlyMap<string, number>>();
  const held = heldRecords();
  await using of = await startConsumer({
    process: held.process,
    window: 2,
    readCommitted: () => committed.promise,
  });
  void of.fetch(5);
  of.crash();
  expect([of.consumer.state, of.consumer.isJoined]).toEqual(['joining', false]);
  held.releaseAll();
  of.join('second');
  expect(of.consumer.state).toBe('catching-up');
  await of.fetch(5);
  expect(of.started).toEqual([0]);
  committed.resolve(new Map([['t/0', 4]]));
  await waitUntil('the consumer to catch up', () => of.consumer.state === 'consuming');
  await waitUntil('the next record to start', () => of.started.length > 1);
  expect(of.started).toEqual([0, 4]);
  held.releaseAll();
});

test('asks again if a rebalance comes before the committed offsets are known', async () => {
  let readCount = 0;
  const answers = [
    Promise.withResolvers<ReadonlyMap<string, number>>(),
    Promise.resolve(new Map([['t/0', 2]])),
  ];
  await using of = await startConsumer({
    readCommitted: () => {
      const answer = answers[readCount++];
      return answer && 'promise' in answer ? answer.promise : (answer ?? Promise.resolve(new Map()));
    },
  });
  of.crash();
  of.join('second');
  await of.consumer.settle();
  of.join('second');
  await waitUntil('the consumer to catch up', () => of.consumer.state === 'consuming');
  expect(readCount).toBe(2);
  await of.fetch(3);
  await waitUntil('the record to start', () => of.started.length > 0);
  expect(of.started).toEqual([2]);
});

test('a paused partition is resumed if a rebalance comes while its records turn out to be finished', async () => {
  const committed = Promise.withResolvers<ReadonlyMap<string, number>>();
  const held = heldRecords();
  await using of = await startConsumer({
    process: held.process,
    window: 1,
    readCommitted: () => committed.promise,
  });
  await of.fetch(5);
  expect(of.flow.at(-1)).toBe('pause');
  of.crash();
  of.join('second');
  const settled = of.consumer.settle();
  committed.resolve(new Map([['t/0', 5]]));
  held.releaseAll();
  await settled;
  of.join('second');
  expect({ state: of.consumer.state, last: of.flow.at(-1) }).toEqual({ state: 'consuming', last: 'resume' });
});

test('stays stopping whatever the group does meanwhile, and commits finished records', async () => {
  const held = heldRecords();
  await using of = await startConsumer({ process: held.process, window: 2 });
  void of.fetch(3);
  const stopped = of.consumer.stop(60_000);
  of.join('first');
  of.crash();
  expect(of.consumer.state).toBe('stopping');
  held.releaseAll();
  await stopped;
  expect({ started: of.started, commits: of.commits }).toEqual({ started: [0], commits: ['1'] });
});

test('a waiting record is a copy, and keeps no response in memory', async () => {
  const fetched: unknown[] = [];
  const parse: Overrides['parse'] = ({ value }) => {
    fetched.push(value?.buffer === RESPONSE.buffer);
    return { message: undefined, error: undefined, dueAtMs: Number.MAX_SAFE_INTEGER };
  };
  await using of = await startConsumer({ parse });
  await of.fetch(1);
  expect(fetched).toEqual([false]);
});

/** Records that wait until they are left; the last way out of each counts. */
function waitingRecords() {
  const left: string[] = [];
  const signals: AbortSignal[] = [];
  const process: WindowOptions<unknown>['process'] = async ({ offset }, { signal }, park) => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    signals.push(signal);
    park(() => left.push('an earlier way'));
    park(() => {
      left.push(String(offset));
      resolve(false);
    });
    return promise;
  };
  return { process, left, signals };
}

test('a partition that is lost leaves its waiting records to the next owner, and their places', async () => {
  const { process, left, signals } = waitingRecords();
  await using of = await startConsumer({ process });
  void of.fetch(2);
  await waitUntil('the records to wait', () => of.consumer.parkedCount === 2);
  of.join('second', [1]);
  expect(left).toEqual(['0', '1']);
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
  await waitUntil('the places to be free', () => of.consumer.parkedCount === 0);
  expect(of.commits).toEqual([]);
});

test('a partition that stays with its member keeps its waiting records', async () => {
  const { process, left, signals } = waitingRecords();
  await using of = await startConsumer({ process });
  void of.fetch(2);
  await waitUntil('the records to wait', () => of.consumer.parkedCount === 2);
  of.join('second');
  expect([left, signals.some(({ aborted }) => aborted), of.consumer.parkedCount]).toEqual([[], false, 2]);
});

test('a record that begins to wait after its partition was lost is left at once', async () => {
  const wait = Promise.withResolvers<void>();
  const left = Promise.withResolvers<boolean>();
  await using of = await startConsumer({
    process: async (_, __, park) => {
      await wait.promise;
      park(() => left.resolve(false));
      return left.promise;
    },
  });
  void of.fetch(1);
  of.join('second', [1]);
  wait.resolve();
  expect(await left.promise).toBe(false);
});

test('a stop ends the waits of all records, also of those without a parking place', async () => {
  const { process, left } = waitingRecords();
  const of = await startConsumer({ process, window: 1, ownerOf: () => 'acc_1', parse: aMessage });
  void of.fetch(5);
  await waitUntil('no more records to start', () => of.consumer.runningCount === 1);
  const waiting = of.started.map(String);
  await of.consumer.stop(60_000);
  expect([left, of.consumer.runningCount + of.consumer.parkedCount]).toEqual([waiting, 0]);
});

const aMessage = () => ({ message: 1, error: undefined, dueAtMs: 0 });
