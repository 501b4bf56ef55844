import { setImmediate as nextTurn } from 'node:timers/promises';
import { failed, type Read, type ReadLane } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import type { Suspicion } from '../reader/readings.ts';
import { type Batch, IsolatedReadBudget, observationOf } from './entry.ts';
import { ReadQueue } from './read-queue.ts';

const aBlock = (number: number): Block => ({
  number,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  parentHash: `0x${(number - 1).toString(16).padStart(64, '0')}`,
  timestamp: number,
});
const aRead = (id: number, contract = '0xaa'): Read => ({
  chainId: 1,
  kind: 'owner',
  contract,
  account: '0x01',
  id: BigInt(id),
  key: `${contract}/${id}`,
});

/** What a call sets of a read that used up its gas. */
const SUSPECTED = { suspected: [failed('not-read-alone')], suspicion: 'gas' } as const;

afterEach(() => jest.useRealTimers());

/** A queue whose calls are answered by hand, in the order in which they went out. */
function makeQueue({
  batchMax = 100,
  quarantined = '',
  takeIsolatedReadSlot = (_clientId: string): number | undefined => 0,
  takeCostlyCallSlot = (_clientId: string, _windowsMax: number): number | undefined => undefined,
} = {}) {
  const calls: { batch: Batch; done: () => void }[] = [];
  const saved: string[] = [];
  const queue = new ReadQueue({
    perform: (batch) => new Promise((done) => calls.push({ batch, done })),
    batchMax: () => batchMax,
    quarantine: new Set([quarantined]),
    isolatedReads: { take: takeIsolatedReadSlot },
    costlyCalls: { take: takeCostlyCallSlot },
    isFact: (observation) => observation.every(({ ok }) => ok),
    onSaved: (reason) => saved.push(reason),
  });
  const read = (
    block: Block,
    reads: Read[],
    over: {
      lane?: ReadLane;
      accountId?: string;
      clientId?: string;
      isolatedReads?: IsolatedReadBudget;
      signal?: AbortSignal;
      atBlock?: number;
      avoid?: readonly string[];
    } = {},
  ) =>
    queue
      .read(block, reads, {
        ...{ lane: 'bulk', accountId: 'acc_1', clientId: 'app_1', signal: new AbortController().signal },
        isolatedReads: new IsolatedReadBudget(over.lane ?? 'bulk'),
        ...over,
      })
      .then((entries) => entries.map(observationOf));
  const idsOf = (call: number) => calls[call]?.batch.entries.map((entry) => Number(entry.read.id));
  function answer(call: number, value: (entry: Read) => bigint | undefined = ({ id }) => id) {
    for (const entry of calls[call]?.batch.entries ?? []) {
      const answered = value(entry.read);
      if (answered !== undefined) entry.observation = [{ ok: true, value: answered }];
    }
    calls[call]?.done();
  }
  return { calls, saved, read, idsOf, answer };
}

test('equal reads of one block are made once and shared by all checks', async () => {
  const { read, calls, idsOf, answer, saved } = makeQueue();
  const results = Promise.all([read(aBlock(1), [aRead(1), aRead(2)]), read(aBlock(1), [aRead(2), aRead(3)])]);
  await nextTurn();
  expect(idsOf(0)).toEqual([1, 2, 3]);
  answer(0);
  expect(await results).toEqual([
    [[{ ok: true, value: 1n }], [{ ok: true, value: 2n }]],
    [[{ ok: true, value: 2n }], [{ ok: true, value: 3n }]],
  ]);
  await read(aBlock(1), [aRead(3)]);
  expect({ callCount: calls.length, saved }).toEqual({ callCount: 1, saved: ['dedupe', 'cache'] });
});

test('two blocks are never mixed, not even two of one number', async () => {
  const { read, idsOf } = makeQueue();
  void read(aBlock(1), [aRead(1)]);
  void read({ ...aBlock(1), hash: `0x${'ff'.repeat(32)}` }, [aRead(1)]);
  await nextTurn();
  expect([idsOf(0), idsOf(1)]).toEqual([[1], [1]]);
});

test('reads that arrive while all calls are in flight share the next call', async () => {
  const { read, calls, idsOf, answer } = makeQueue();
  for (let id = 0; id < 4; id++) {
    void read(aBlock(1), [aRead(id)]);
    await nextTurn();
  }
  for (let id = 4; id < 20; id++) void read(aBlock(1), [aRead(id)]);
  await nextTurn();
  expect(calls).toHaveLength(4);
  answer(0);
  await nextTurn();
  expect(idsOf(4)).toHaveLength(16);
});

test('reads that avoid endpoints share no answer with others, and their calls count with the others', async () => {
  const { read, calls, answer } = makeQueue();
  const avoid = ['0'];
  const ofBatch = { lane: 'batch' } as const;
  for (let id = 0; id < 3; id++) {
    void read(aBlock(1), [aRead(id)], ofBatch);
    await nextTurn();
  }
  void read(aBlock(1), [aRead(0)], { ...ofBatch, avoid });
  void read(aBlock(1), [aRead(1)], { ...ofBatch, avoid: ['1'] });
  await nextTurn();
  expect(calls.map(({ batch }) => batch.avoid)).toEqual([[], [], [], avoid]);
  answer(0);
  await nextTurn();
  expect(calls.at(-1)?.batch.avoid).toEqual(['1']);
});

test('the interactive lane goes first', async () => {
  const { read, idsOf } = makeQueue({ batchMax: 2 });
  void read(aBlock(1), [aRead(1), aRead(2), aRead(3)]);
  void read(aBlock(1), [aRead(4)], { lane: 'interactive', clientId: 'app_2' });
  void read(aBlock(1), [aRead(3)], { lane: 'interactive', clientId: 'app_2' });
  await nextTurn();
  expect([idsOf(0), idsOf(1)]).toEqual([
    [4, 3],
    [1, 2],
  ]);
});

test('the interactive lane has a reserved call while the bulk lane uses all others', async () => {
  const { read, calls, idsOf } = makeQueue();
  for (let id = 0; id < 6; id++) {
    void read(aBlock(1), [aRead(id)]);
    await nextTurn();
  }
  expect(calls).toHaveLength(4);
  void read(aBlock(1), [aRead(9)], { lane: 'interactive' });
  await nextTurn();
  expect(idsOf(4)).toContain(9);
});

test('a check that must end gets the available answers, and the code of the last attempt for the rest', async () => {
  const { read, calls } = makeQueue();
  const end = new AbortController();
  const result = read(aBlock(1), [aRead(1), aRead(2), aRead(3)], { signal: end.signal });
  await nextTurn();
  const [first, second] = calls[0]?.batch.entries ?? [];
  if (first) first.observation = [{ ok: true, value: 7n }];
  if (second) second.lastFailure = failed('rpc-timeout');
  end.abort();
  expect(await result).toEqual([
    [{ ok: true, value: 7n }],
    [failed('rpc-timeout')],
    [failed('deadline-exceeded')],
  ]);
});

test('a call is aborted when no check waits for any of its reads, and not before', async () => {
  const { read, calls } = makeQueue();
  const [one, two] = [new AbortController(), new AbortController()];
  void read(aBlock(1), [aRead(1), aRead(2)], { signal: one.signal });
  void read(aBlock(1), [aRead(2)], { signal: two.signal });
  await nextTurn();
  const isGivenUp = async () => {
    await nextTurn();
    return calls[0]?.batch.controller.signal.aborted;
  };
  one.abort();
  expect(await isGivenUp()).toBe(false);
  two.abort();
  expect(await isGivenUp()).toBe(true);
});

test('a read that no check waits for any more is not made', async () => {
  const { read, calls, answer, idsOf } = makeQueue();
  for (let id = 0; id < 4; id++) {
    void read(aBlock(1), [aRead(id)]);
    await nextTurn();
  }
  const end = new AbortController();
  const gone = read(aBlock(1), [aRead(8)], { signal: end.signal });
  void read(aBlock(1), [aRead(9)]);
  end.abort();
  await gone;
  answer(0);
  await nextTurn();
  expect(calls).toHaveLength(5);
  expect(idsOf(4)).toEqual([9]);
});

test('a transport failure goes to the checks that wait and is not cached', async () => {
  const { read, calls, idsOf } = makeQueue();
  const result = read(aBlock(1), [aRead(1)]);
  await nextTurn();
  const [entry] = calls[0]?.batch.entries ?? [];
  if (entry) entry.observation = [failed('rpc-unavailable')];
  calls[0]?.done();
  expect(await result).toEqual([[failed('rpc-unavailable')]]);
  void read(aBlock(1), [aRead(1)]);
  await nextTurn();
  expect(idsOf(1)).toEqual([1]);
});

test('a suspect read is repeated in isolation, and the other reads are answered before', async () => {
  const { read, calls, idsOf, answer } = makeQueue();
  const good = read(aBlock(1), [aRead(1)]);
  const both = read(aBlock(1), [aRead(1), aRead(2)]);
  await nextTurn();
  const suspect = calls[0]?.batch.entries[1];
  if (suspect) Object.assign(suspect, SUSPECTED);
  answer(0, ({ id }) => (id === 2n ? undefined : id));
  expect(await good).toEqual([[{ ok: true, value: 1n }]]);
  await nextTurn();
  expect([idsOf(1), calls[1]?.batch.way]).toEqual([[2], 'isolated']);
  answer(1);
  expect(await both).toEqual([[{ ok: true, value: 1n }], [{ ok: true, value: 2n }]]);
});

test('a quarantined read is isolated from the start, and other reads of its contract are not', async () => {
  const { read, calls, idsOf } = makeQueue({ quarantined: '0xbad/2' });
  void read(aBlock(1), [aRead(1, '0xbad'), aRead(2, '0xbad')]);
  await nextTurn();
  expect([idsOf(0), idsOf(1)]).toEqual([[1], [2]]);
  expect(calls.map(({ batch }) => batch.way)).toEqual(['shared', 'isolated']);
});

test('a quarantined read takes a place of its check and a slot, and without them it is not made', async () => {
  const slots = ['app_1'];
  const { read, calls, answer } = makeQueue({
    quarantined: '0xbad/2',
    takeIsolatedReadSlot: () => (slots.pop() === undefined ? undefined : 0),
  });
  const isolatedReads = new IsolatedReadBudget('bulk');
  const [one, other] = [1, 2].map((number) => read(aBlock(number), [aRead(2, '0xbad')], { isolatedReads }));
  expect(await other).toEqual([[failed('not-read-alone')]]);
  await nextTurn();
  answer(0);
  expect(await one).toEqual([[{ ok: true, value: 2n }]]);
  for (let place = 1; place < 8; place++) isolatedReads.spend(aRead(place));
  slots.push('app_1');
  expect(await read(aBlock(3), [aRead(2, '0xbad')], { isolatedReads })).toEqual([[failed('not-read-alone')]]);
  expect([calls.length, slots]).toEqual([1, ['app_1']]);
});

test('calls for reads that are sent apart go out in turns of accounts, however many apps one has', async () => {
  const { read, calls, answer } = makeQueue({ takeCostlyCallSlot: () => 0 });
  const apps = Array.from({ length: 6 }, (_, app) => `app_${app}`);
  for (const clientId of apps) {
    void read(aBlock(1), [aRead(1, clientId), aRead(2, clientId)], { clientId });
  }
  void read(aBlock(1), [aRead(3, '0xbb')], { accountId: 'acc_2', clientId: 'app_other' });
  await nextTurn();
  suspectAll(calls[0]);
  for (const call of [1, 2]) {
    answer(call);
    await nextTurn();
  }
  expect(calls.slice(1, 4).map(({ batch }) => batch.app?.accountId)).toEqual(['acc_1', 'acc_2', 'acc_1']);
});

test('a bug in a call ends its reads as internal and frees its slot', async () => {
  const queue = new ReadQueue({
    perform: () => Promise.reject(new Error('a bug')),
    batchMax: () => 1,
    quarantine: new Set<string>(),
    isolatedReads: { take: () => 0 },
    costlyCalls: { take: () => 0 },
    isFact: () => false,
    onSaved: () => undefined,
  });
  const context = {
    lane: 'bulk',
    accountId: 'acc_1',
    clientId: 'app_1',
    isolatedReads: new IsolatedReadBudget('bulk'),
    signal: new AbortController().signal,
  } as const;
  const reads = Array.from({ length: 10 }, (_, id) => aRead(id));
  const entries = await queue.read(aBlock(1), reads, context);
  expect(entries.map(observationOf)).toEqual(reads.map(() => [failed('internal')]));
});

/** Lets every read of a call be suspect. */
function suspectAll(call: { batch: Batch; done: () => void } | undefined, suspicion: Suspicion = 'gas') {
  for (const entry of call?.batch.entries ?? []) Object.assign(entry, SUSPECTED, { suspicion });
  call?.done();
}
const manyReads = (count: number) => Array.from({ length: count }, (_, id) => aRead(id));

test('at most 8 reads of a check are repeated in isolation, and the others get their first outcome', async () => {
  const { read, calls, answer } = makeQueue();
  const result = read(aBlock(1), manyReads(10));
  await nextTurn();
  suspectAll(calls[0]);
  for (let call = 1; call < 4; call++) {
    await nextTurn();
    answer(call);
  }
  const observed = await result;
  expect(calls.slice(1).map(({ batch }) => batch.way)).toEqual(['isolated', 'isolated']);
  expect(observed.filter(([reading]) => reading?.ok)).toHaveLength(8);
  expect(observed.slice(8)).toEqual([[failed('not-read-alone')], [failed('not-read-alone')]]);
  // No other check gets this answer without its own try.
  void read(aBlock(1), [aRead(9)]);
  await nextTurn();
  expect(calls).toHaveLength(4);
});

test('a client app without a slot gets the first outcome, and a client app with a slot uses it for both', async () => {
  const { read, calls, answer } = makeQueue({
    takeIsolatedReadSlot: (id) => (id === 'app_2' ? 0 : undefined),
  });
  const alone = read(aBlock(1), [aRead(1)]);
  const both = Promise.all([read(aBlock(1), [aRead(2)]), read(aBlock(1), [aRead(2)], { clientId: 'app_2' })]);
  await nextTurn();
  suspectAll(calls[0]);
  expect(await alone).toEqual([[failed('not-read-alone')]]);
  await nextTurn();
  answer(1);
  expect(await both).toEqual([[[{ ok: true, value: 2n }]], [[{ ok: true, value: 2n }]]]);
});

test('a read whose slot is still to come waits for it, also when its block has grown old', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  const { read, calls, answer, idsOf } = makeQueue({ takeIsolatedReadSlot: () => 5 });
  const result = read(aBlock(1), [aRead(1)]);
  await nextTurn();
  suspectAll(calls[0]);
  for (let number = 2; number < 8; number++) {
    const other = read(aBlock(number), [aRead(number)]);
    await nextTurn();
    answer(number - 1);
    await other;
  }
  expect(calls).toHaveLength(7);
  jest.advanceTimersByTime(5);
  expect([idsOf(7), calls[7]?.batch.way]).toEqual([[1], 'isolated']);
  answer(7);
  expect(await result).toEqual([[{ ok: true, value: 1n }]]);
});

const manyBatchReads = (first: number) => Array.from({ length: 4 }, (_, id) => aRead(first + id));

test('reads of batches take all calls, in turns of their clients, and single checks have theirs at once', async () => {
  const { read, calls, idsOf } = makeQueue({ batchMax: 1 });
  void read(aBlock(1), manyBatchReads(10), { lane: 'batch' });
  void read(aBlock(1), manyBatchReads(20), { lane: 'batch', clientId: 'app_2' });
  await nextTurn();
  expect([0, 1, 2, 3].map(idsOf)).toEqual([[10], [20], [11], [21]]);
  void read(aBlock(1), [aRead(1)], { lane: 'bulk' });
  void read(aBlock(1), [aRead(2)], { lane: 'interactive' });
  await nextTurn();
  expect(calls).toHaveLength(6);
  expect([idsOf(4), idsOf(5)]).toEqual([[2], [1]]);
});

test('reads of batches have one call while a single check has one', async () => {
  const { read, calls, idsOf, answer } = makeQueue({ batchMax: 1 });
  void read(aBlock(1), [aRead(1)], { lane: 'interactive' });
  void read(aBlock(1), manyBatchReads(10), { lane: 'batch' });
  await nextTurn();
  expect([idsOf(0), idsOf(1)]).toEqual([[1], [10]]);
  answer(1);
  await nextTurn();
  expect(calls).toHaveLength(3);
  answer(0);
  await nextTurn();
  expect(calls).toHaveLength(5);
});

test('reads of batches wait while single checks take all calls', async () => {
  const { read, calls, idsOf, answer } = makeQueue({ batchMax: 1 });
  void read(aBlock(1), manyReads(5), { lane: 'bulk' });
  void read(aBlock(1), manyBatchReads(10), { lane: 'batch' });
  await nextTurn();
  expect(calls).toHaveLength(4);
  answer(0);
  await nextTurn();
  expect(idsOf(4)).toEqual([4]);
  answer(1);
  await nextTurn();
  expect(idsOf(5)).toEqual([10]);
});

test('a read of a batch that a single check requests goes out with the single checks', async () => {
  const { read, idsOf } = makeQueue({ batchMax: 1 });
  void read(aBlock(1), manyBatchReads(10), { lane: 'batch' });
  void read(aBlock(1), [aRead(13)], { lane: 'bulk' });
  await nextTurn();
  expect([idsOf(0), idsOf(1)]).toEqual([[13], [10]]);
});

test('a batch keeps for others only the answers that all of its entries share', async () => {
  const { read, calls, answer } = makeQueue();
  const balance: Read = { ...aRead(1), kind: 'balance', key: 'balance' };
  const first = read(aBlock(1), [balance, aRead(2)], { lane: 'batch' });
  await nextTurn();
  answer(0);
  await first;
  void read(aBlock(1), [balance, aRead(2)]);
  await nextTurn();
  expect(calls[1]?.batch.entries.map((entry) => entry.read.key)).toEqual(['balance']);
});

test('a head with a call in flight stays a head, and its reads stay shared, however many heads follow', async () => {
  const { read, calls, idsOf, answer, saved } = makeQueue();
  void read(aBlock(1), [aRead(1)]);
  await nextTurn();
  for (let number = 2; number < 8; number++) {
    const other = read(aBlock(number), [aRead(number)]);
    await nextTurn();
    answer(number - 1);
    await other;
  }
  void read(aBlock(1), [aRead(1)]);
  expect(saved).toEqual(['dedupe']);
  for (const number of [20, 21]) {
    void read(aBlock(number), [aRead(number)], { atBlock: number });
    await nextTurn();
  }
  // The calls for past blocks are all taken, which must not delay the reads of a head.
  suspectAll(calls[0]);
  await nextTurn();
  expect([idsOf(9), calls[9]?.batch.way]).toEqual([[1], 'isolated']);
});

test('every block that is requested is read, however many others have open reads', async () => {
  const { read, answer } = makeQueue();
  const readBlocks: number[] = [];
  for (let number = 0; number < 8; number++)
    void read(aBlock(number), [aRead(number)]).then(() => readBlocks.push(number));
  for (let call = 0; call < 8; call++) {
    await nextTurn();
    answer(call);
  }
  await nextTurn();
  expect(readBlocks).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test('reads of one contract that used up their gas share calls of 40 with more gas, and one that does so again is isolated', async () => {
  const { read, calls, answer } = makeQueue({ takeCostlyCallSlot: () => 0 });
  const result = read(aBlock(1), [...manyReads(50), aRead(1, '0xbb')]);
  await nextTurn();
  suspectAll(calls[0]);
  await nextTurn();
  const [, ...more] = calls;
  expect(more.map(({ batch }) => [batch.way, batch.entries.length])).toEqual([
    ['costly', 40],
    ['costly', 10],
  ]);
  const again = calls[1]?.batch.entries[0];
  if (again) Object.assign(again, SUSPECTED);
  answer(1, ({ id }) => (id === 0n ? undefined : id));
  answer(2);
  await nextTurn();
  // The read of another contract was alone in using up its gas.
  expect(calls.slice(3).map(({ batch }) => [batch.way, batch.entries.length])).toEqual([['isolated', 2]]);
  answer(3);
  expect((await result).flat()).toEqual([
    ...manyReads(50).map(({ id }) => ({ ok: true, value: id })),
    { ok: true, value: 1n },
  ]);
});

test('a contract that needed more gas is remembered for the client app, as long as it has a slot at once', async () => {
  let slots = 2;
  const { read, calls, answer } = makeQueue({
    takeCostlyCallSlot: () => (slots-- > 0 ? 0 : undefined),
  });
  void read(aBlock(1), [aRead(1), aRead(2)]);
  await nextTurn();
  suspectAll(calls[0]);
  await nextTurn();
  answer(1);
  await nextTurn();
  void read(aBlock(2), [aRead(3), aRead(4)]);
  await nextTurn();
  void read(aBlock(2), [aRead(5)], { clientId: 'app_2' });
  await nextTurn();
  void read(aBlock(3), [aRead(6)]);
  await nextTurn();
  expect(calls.slice(2).map(({ batch }) => batch.way)).toEqual(['costly', 'shared', 'shared']);
});

test('reverts that a plain call is to confirm share a call, which takes one place of one check', async () => {
  let slots = 0;
  const { read, calls, idsOf, answer } = makeQueue({
    takeIsolatedReadSlot: () => {
      slots += 1;
      return 0;
    },
  });
  const result = read(aBlock(1), manyReads(30));
  await nextTurn();
  suspectAll(calls[0], 'caller');
  await nextTurn();
  expect({ way: calls[1]?.batch.way, count: idsOf(1)?.length, slots }).toEqual({
    way: 'caller',
    count: 30,
    slots: 1,
  });
  answer(1, () => 0n);
  expect((await result).flat()).toEqual(manyReads(30).map(() => ({ ok: true, value: 0n })));
});

test('a revert that no plain call may confirm is undetermined, and asking again may help', async () => {
  const { read, calls } = makeQueue({ takeIsolatedReadSlot: () => undefined });
  const result = read(aBlock(1), [aRead(1)]);
  await nextTurn();
  suspectAll(calls[0], 'caller');
  expect(await result).toEqual([[failed('not-read-alone')]]);
});

test('each entry of a part of a batch has its own 8 isolated reads', async () => {
  const { read, calls, answer } = makeQueue();
  const reads = Array.from({ length: 30 }, (_, id) => ({ ...aRead(id), entryIndex: Math.floor(id / 10) }));
  const result = read(aBlock(1), reads, { lane: 'batch' });
  await nextTurn();
  suspectAll(calls[0]);
  for (let call = 1; call < 8; call++) {
    await nextTurn();
    answer(call);
  }
  const observed = (await result).flat();
  for (const entry of [0, 1, 2])
    expect(observed.slice(10 * entry, 10 * entry + 10).filter(({ ok }) => ok)).toHaveLength(8);
});
