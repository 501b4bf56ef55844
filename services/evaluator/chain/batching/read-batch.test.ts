import { poolOf } from '../../../../test/support/builders/pool-of.ts';
import { agreeOn } from '../../domain/agree.ts';
import { failed, type Reading } from '../../domain/read.ts';
import { CallLag, NOT_YET_MS } from '../endpoints/call-lag.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import {
  type BatchReadings,
  PERHAPS_FOR_CONTRACTS,
  PERHAPS_OUT_OF_GAS,
  PERHAPS_REVERTED,
  type Suspect,
} from '../reader/readings.ts';
import { type FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';
import type { Batch, Entry } from './entry.ts';
import { makeBatchReader } from './read-batch.ts';

const FIVE: Reading = { ok: true, value: 5n };
/** Of an endpoint whose answer does not identify the state. */
const STATELESS: Reading = { ok: true, value: 6n };

const BLOCK = { hash: '0x01' };

/** The answers of each endpoint to a batch of two reads, one per call. */
async function readBatch(
  answers: readonly (BatchReadings | FailureKind)[],
  quorum: number,
  avoid: readonly string[] = [],
) {
  const endpoints = answers.map((_, index) => ({ name: String(index), lag: new CallLag() }) as Endpoint);
  // A second passes between any two looks at the clock.
  let ageMs = NOT_YET_MS;
  const later = () => {
    ageMs += 1_000;
    return ageMs;
  };
  const perform = makeBatchReader({
    quorum,
    pool: { ...poolOf(endpoints), ageMs: later, isBuried: () => false },
    onBatch: () => undefined,
    isReplaced: async () => false,
    readFrom: async ({ name }) => {
      const says = answers[Number(name)] ?? [];
      if (typeof says === 'string') throw new RpcFailure(says);
      return { readings: says, isProved: true, hasState: !says.includes(STATELESS) };
    },
  });
  const entries = ['a', 'b'].map((key) => ({ read: { key } }) as Entry);
  const controller = new AbortController();
  await perform({ block: BLOCK, entries, way: 'shared', avoid, controller } as unknown as Batch);
  return { entries, observations: entries.map(({ observation }) => observation) };
}

test('a suspect read stays open, with the failure that it gets if it is not read alone', async () => {
  const { entries } = await readBatch([[FIVE, PERHAPS_OUT_OF_GAS]], 1);
  expect(entries.map(({ observation, suspected }) => ({ observation, suspected }))).toEqual([
    { observation: [FIVE], suspected: undefined },
    { observation: undefined, suspected: [failed('not-read-alone')] },
  ]);
});

test('a read that ran out of gas at one endpoint is retried if other reads succeeded there', async () => {
  expect((await readBatch([[FIVE, undefined]], 1)).observations).toEqual([[FIVE], undefined]);
});

test('an endpoint without answers does not delay a read that the others agree on', async () => {
  const answers = [
    [undefined, undefined],
    [FIVE, FIVE],
    [FIVE, FIVE],
  ];
  expect((await readBatch(answers, 2)).observations).toEqual([
    [FIVE, FIVE],
    [FIVE, FIVE],
  ]);
});

test.each([
  ['suspects', PERHAPS_OUT_OF_GAS],
  ['leaves out', undefined],
])('a read that one endpoint %s is decided by a quorum of the others', async (_, ofOne) => {
  const answers = [
    [FIVE, ofOne],
    [FIVE, FIVE],
    [FIVE, FIVE],
  ];
  for (const order of [answers, answers.toReversed(), [answers[1], answers[0], answers[2]]]) {
    const { observations, entries } = await readBatch(order as BatchReadings[], 2);
    expect([agreeOn(observations[1] ?? [], 2), entries[1]?.suspicion]).toEqual([FIVE, undefined]);
  }
});

test('a read that a quorum suspects is repeated without asking one more endpoint', async () => {
  const suspect = [FIVE, PERHAPS_OUT_OF_GAS];
  const { entries } = await readBatch([suspect, suspect, [FIVE, FIVE]], 2);
  expect([entries[1]?.suspicion, entries[1]?.source?.endpoints]).toEqual(['gas', ['0', '1']]);
});

test('asks endpoints that are to be avoided only if there are too few others', async () => {
  const answers = [[FIVE, FIVE], [STATELESS, STATELESS], 'timeout'] as const;
  const read = async (quorum: number, avoid: readonly string[]) => {
    const [entry] = (await readBatch(answers, quorum, avoid)).entries;
    return [entry?.observation, entry?.source?.endpoints];
  };
  expect(await read(1, [])).toEqual([[FIVE], ['0']]);
  expect(await read(1, ['0'])).toEqual([[STATELESS], ['1']]);
  // One of the others does not answer: it is not the same endpoint that confirms itself.
  expect(await read(1, ['0', '1'])).toEqual([[failed('rpc-timeout')], undefined]);
  expect(await read(1, ['0', '1', '2'])).toEqual([[FIVE], ['0']]);
});

test('a read that no endpoint answers ends', async () => {
  expect((await readBatch([[undefined, undefined]], 1)).observations).toEqual([
    [failed('not-read-alone')],
    [failed('not-read-alone')],
  ]);
});

test.each(['block-unavailable', 'block-mismatch'] as const)(
  'a block that fewer endpoints read than the quorum is gone, even if one still does (%s)',
  async (kind) => {
    const gone = [failed(kind)];
    expect((await readBatch([[FIVE, FIVE], kind, kind], 2)).observations).toEqual([gone, gone]);
    expect((await readBatch([[FIVE, FIVE], [FIVE, FIVE], kind], 2)).observations).toEqual([
      [FIVE, FIVE],
      [FIVE, FIVE],
    ]);
  },
);

/** A block that the only endpoint has from this age on; the clock stands still but for the
 * pauses. */
async function readNew(
  { readyMs = 0, startMs = 0, isPast = false, isBuried = false, isReplaced = false },
  failure = new RpcFailure('block-unavailable', { isErrorAnswer: true, isConfirmed: true }),
) {
  const began = performance.now();
  const ageMs = () => startMs + performance.now() - began;
  const endpoint = { name: '0', lag: new CallLag() } as Endpoint;
  const asked: { isNew: boolean; isPast: boolean }[] = [];
  const looks: number[] = [];
  const perform = makeBatchReader({
    quorum: 1,
    pool: { ...poolOf([endpoint]), ageMs, isBuried: () => isBuried },
    onBatch: () => undefined,
    isReplaced: async () => {
      looks.push(ageMs());
      return isReplaced;
    },
    readFrom: async (_, { isNew, isPast: isNamed }) => {
      asked.push({ isNew, isPast: isNamed });
      if (ageMs() < readyMs) throw failure;
      return { readings: [FIVE], isProved: true, hasState: true };
    },
  });
  const entry = { read: { key: 'a' } } as Entry;
  const controller = new AbortController();
  await perform({ block: BLOCK, entries: [entry], isPast, avoid: [], controller } as unknown as Batch);
  return { observation: entry.observation, asked, looks, lagMs: endpoint.lag.ms };
}

test('a new block that the endpoint does not have yet is waited for, and the wait is learned', async () => {
  const { observation, asked, lagMs } = await readNew({ readyMs: 500 });
  expect(observation).toEqual([FIVE]);
  expect(asked.length).toBeLessThanOrEqual(4);
  expect(lagMs).toBeGreaterThan(0);
});

test('a block that another one has replaced is waited for no longer, and makes no other read wait', async () => {
  const { observation, asked, looks, lagMs } = await readNew({ readyMs: 60_000, isReplaced: true });
  expect([observation, looks.length, lagMs]).toEqual([[failed('block-unavailable')], 1, 0]);
  expect(asked).toHaveLength(3);
});

test('an endpoint may not have a new block yet, and a block that a check has named not any more', async () => {
  for (const [age, isNew] of [
    [{ isPast: false }, true],
    [{ isPast: false, isBuried: true }, true],
    [{ isPast: true }, true],
    [{ isPast: true, isBuried: true }, false],
    [{ isPast: false, startMs: NOT_YET_MS }, false],
  ] as const)
    expect((await readNew(age)).asked).toEqual([{ isNew, isPast: age.isPast }]);
});

test('the state counts as identified only if every endpoint of the quorum has identified it', async () => {
  const withAll = await readBatch(
    [
      [FIVE, FIVE],
      [FIVE, FIVE],
    ],
    2,
  );
  const withOne = await readBatch(
    [
      [FIVE, FIVE],
      [FIVE, STATELESS],
      [FIVE, STATELESS],
    ],
    2,
  );
  expect([withAll, withOne].map(({ entries }) => entries[0]?.source?.hasState)).toEqual([true, false]);
});

test('of several suspicions of a read, used-up gas is examined first, then a revert', async () => {
  const suspicionOf = async (...suspects: Suspect[]) => {
    const { entries } = await readBatch(
      suspects.map((suspect) => [FIVE, suspect]),
      suspects.length,
    );
    return entries[1]?.suspicion;
  };
  expect(await suspicionOf(PERHAPS_FOR_CONTRACTS, PERHAPS_OUT_OF_GAS)).toBe('gas');
  expect(await suspicionOf(PERHAPS_REVERTED, PERHAPS_FOR_CONTRACTS)).toBe('caller');
});

test('a call that is given up answers nothing, so that a check that has joined it sends the read again', async () => {
  const controller = new AbortController();
  const endpoints = ['0', '1'].map((name) => ({ name, lag: new CallLag() }) as Endpoint);
  const perform = makeBatchReader({
    quorum: 2,
    pool: { ...poolOf(endpoints), ageMs: () => NOT_YET_MS, isBuried: () => false },
    onBatch: () => undefined,
    isReplaced: async () => false,
    readFrom: async ({ name }, _, signal) => {
      if (name === '0') return { readings: [FIVE], isProved: true, hasState: true };
      controller.abort();
      await new Promise((resolve) =>
        signal.aborted ? resolve(0) : signal.addEventListener('abort', resolve),
      );
      throw new RpcFailure('abandoned');
    },
  });
  const entry = { read: { key: 'a' } } as Entry;
  await perform({ block: BLOCK, entries: [entry], avoid: [], controller } as unknown as Batch);
  expect(entry.observation).toBeUndefined();
});

test('a failure that a client may have chosen makes no other read wait', async () => {
  const chosen = new RpcFailure('block-unavailable', { isErrorAnswer: true });
  expect(await readNew({ readyMs: 200 }, chosen)).toMatchObject({ observation: [FIVE], lagMs: 0 });
});
