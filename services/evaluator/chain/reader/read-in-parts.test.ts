import { failed, type Read } from '../../domain/read.ts';
import { LearnedLimit } from '../endpoints/learned-limit.ts';
import { type FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';
import { readInParts } from './read-in-parts.ts';
import { PERHAPS_OUT_OF_GAS } from './readings.ts';
import { makeCalleeLimits } from './reads-apart.ts';

const READ = { ok: true, value: 5n } as const;
const makeReads = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ key: String(index) }) as Read);
const isErrorAnswer = true;

/** Reads from an endpoint where some reads bring down the whole call that they travel in. */
function makeReading(
  bad: Readonly<Record<string, FailureKind>>,
  { perCallMax, own }: { perCallMax?: number; own?: RpcFailure } = {},
) {
  const limit = new LearnedLimit(perCallMax ?? 500, () => 0);
  const sizes: number[] = [];
  let ownCount = 0;
  const calleeLimits = makeCalleeLimits()('0');
  /** Reads of as many contracts, through an endpoint that gives calls no stipend. */
  const readContracts = (count: number, over = {}) =>
    read(
      count,
      {},
      {
        calleeLimits,
        reads: makeReads(count).map((each) => ({ ...each, contract: each.key })),
        ...over,
      },
    );
  const read = (
    count: number,
    { isSuspect = false, isNew = false, isPast = false, isRepeated = false } = {},
    over: Partial<Parameters<typeof readInParts>[0]> = {},
  ) =>
    readInParts({
      endpoint: { limit, use: () => Promise.reject(new Error('not called')) },
      reads: makeReads(count),
      isSuspect,
      isShielded: false,
      isNew,
      isPast,
      isRepeated,
      readOwn: async () => {
        ownCount += 1;
        if (own !== undefined) throw own;
      },
      readSome: async (part) => {
        sizes.push(part.length);
        const kind = part.map(({ key }) => bad[key]).find((one) => one !== undefined);
        if (kind !== undefined) throw new RpcFailure(kind, { isErrorAnswer: kind !== 'timeout' });
        return part.map(() => READ);
      },
      ...over,
    });
  return { limit, sizes, read, readContracts, ownCount: () => ownCount };
}

test('no contract makes a call revert that catches what its contracts do: the endpoint has not answered', async () => {
  const { read } = makeReading({ 7: 'reverted' });
  const readings = await read(10, {}, { isShielded: true });
  expect(readings[7]).toMatchObject({ ok: false, code: 'rpc-unavailable' });
});

test('an endpoint that cuts long answers off is asked for less, and answers', async () => {
  const { limit, sizes, read } = makeReading({});
  const cutOff = async (part: readonly Read[]) => {
    sizes.push(part.length);
    if (part.length > 3) throw new RpcFailure('malformed');
    return part.map(() => READ);
  };
  expect(await read(10, {}, { readSome: cutOff })).toEqual(Array(10).fill(READ));
  expect(limit.current).toBeLessThan(10);
});

test.each(['rpc-error', 'endless', 'gas-exhausted'] as const)(
  'one read that ends in %s does not fail the others',
  async (kind) => {
    const { read, ownCount } = makeReading({ 77: kind });
    const readings = await read(100);
    expect(readings.filter((reading) => reading === READ)).toHaveLength(99);
    expect(readings[77]).toMatchObject({ ok: false });
    expect(ownCount()).toBe(1);
  },
);

const ALL = (kind: FailureKind) => Object.fromEntries(makeReads(500).map(({ key }) => [key, kind]));

test.each([
  ['may not have the block yet', { isNew: true, isRepeated: true }, 'block-unavailable'],
  ['may not have the block any more', { isPast: true }, 'block-unavailable'],
  ['must have the block', {}, 'rpc-error'],
])(
  'an endpoint that %s and cannot read anything at it costs two calls and no bisection',
  async (_, age, kind) => {
    const own = new RpcFailure('rpc-error', { isErrorAnswer });
    const { sizes, read, ownCount } = makeReading(ALL('rpc-error'), { own });
    await expect(read(500, age)).rejects.toMatchObject({ kind });
    expect([sizes, ownCount()]).toEqual([[500], 1]);
  },
);

test('an endpoint that is found unreachable meanwhile is not taken for one without the block', async () => {
  const { read } = makeReading(ALL('rpc-error'), { own: new RpcFailure('unreachable') });
  await expect(read(8, { isNew: true, isRepeated: true })).rejects.toMatchObject({ kind: 'unreachable' });
});

test.each(['gas-exhausted', 'reverted'] as const)(
  'a lone read that brings down its call with %s is the fault of the endpoint, for another one to answer',
  async (kind) => {
    await expect(makeReading({ 0: kind }).read(1)).rejects.toMatchObject({ kind });
  },
);

test('a lone read is repeated in isolation before a verdict if a contract can fail the whole call', async () => {
  expect(await makeReading({ 0: 'gas-exhausted' }).read(1, { isSuspect: true })).toEqual([
    PERHAPS_OUT_OF_GAS,
  ]);
  expect(
    await makeReading({ 0: 'rpc-error' })
      .read(1, { isSuspect: true })
      .catch(({ kind }) => kind),
  ).toBe('rpc-error');
});

test('reads beyond the bound on calls stay open, and readings are kept', async () => {
  const { sizes, read } = makeReading({ 10: 'gas-exhausted', 250: 'gas-exhausted', 400: 'gas-exhausted' });
  const readings = await read(500);
  expect(sizes.length).toBeLessThanOrEqual(32);
  const isOpen = (reading: unknown) => reading === undefined;
  expect(readings.filter((reading) => reading === READ).length).toBeGreaterThan(0);
  expect(readings.filter((one) => one !== READ && !isOpen(one) && one !== failed('gas-exhausted'))).toEqual(
    [],
  );
  expect(readings.filter(isOpen).length).toBeGreaterThan(0);
});

test('readings from before the endpoint failed are kept', async () => {
  const readings = await makeReading({ 25: 'timeout' }, { perCallMax: 10 }).read(30);
  expect(readings.map((reading) => reading === READ)).toEqual(makeReads(30).map((_, index) => index < 20));
});

test('no call carries more reads than the endpoint accepts, however large the batch is', async () => {
  const { sizes, read } = makeReading({}, { perCallMax: 10 });
  expect(await read(95)).toHaveLength(95);
  expect(sizes).toEqual([...Array(9).fill(10), 5]);
});

test('a lone read that times out takes no room from other reads', async () => {
  const { limit, read } = makeReading({ 0: 'timeout' });
  const readsPerCall = limit.current;
  for (let times = 0; times < 5; times++) await expect(read(1)).rejects.toMatchObject({ kind: 'timeout' });
  expect(limit.current).toBe(readsPerCall);
});

test('at a new block a read that no contract failed stays open: another node may have answered the read of our own', async () => {
  const { read } = makeReading({ 3: 'rpc-error', 5: 'gas-exhausted' });
  const readings = await read(8, { isNew: true, isRepeated: true });
  expect([readings[3], readings[5]]).toEqual([undefined, failed('gas-exhausted')]);
  await expect(makeReading({ 0: 'rpc-error' }).read(1, { isNew: true })).rejects.toMatchObject({
    kind: 'block-unavailable',
  });
});

test.each([1, 8])(
  '%d reads at a new block cost a read of our own only if they fail again, which confirms that the block is missing',
  async (count) => {
    const own = new RpcFailure('rpc-error', { isErrorAnswer });
    const { read, ownCount } = makeReading(ALL('rpc-error'), { own });
    await expect(read(count, { isNew: true })).rejects.toMatchObject({
      kind: 'block-unavailable',
      isConfirmed: false,
    });
    expect(ownCount()).toBe(0);
    await expect(read(count, { isNew: true, isRepeated: true })).rejects.toMatchObject({
      kind: 'block-unavailable',
      isConfirmed: true,
    });
    expect(ownCount()).toBe(1);
  },
);

test.each(['timeout', 'endless'] as const)(
  'a contract without a stipend that ends a call by %s fails no other, and is not read with others again',
  async (kind) => {
    const { sizes, readContracts, limit } = makeReading({ 3: kind });
    const limitBefore = limit.current;
    // The next attempt may be one at another endpoint.
    await expect(readContracts(8)).rejects.toMatchObject({ kind });
    const expected = makeReads(8).map(({ key }) => (key === '3' ? PERHAPS_OUT_OF_GAS : READ));
    expect(await readContracts(8)).toEqual(expected);
    expect([sizes, limit.current]).toEqual([[8, 1, 1, 1, 1, 1, 1, 1, 1], limitBefore]);
    expect(await readContracts(8)).toEqual(expected);
    expect(sizes.slice(9)).toEqual([7]);
  },
);

test('a contract that returned too much alone is not read with others again', async () => {
  const { sizes, readContracts } = makeReading({ 0: 'endless' });
  expect(await readContracts(1)).toEqual([PERHAPS_OUT_OF_GAS]);
  expect(await readContracts(3)).toEqual([PERHAPS_OUT_OF_GAS, READ, READ]);
  expect(sizes).toEqual([1, 2]);
});

test('a contract that one slow answer came from is not heavy, and what it fails later fails no other', async () => {
  const { sizes, readContracts } = makeReading({ 0: 'timeout' });
  await expect(readContracts(1)).rejects.toMatchObject({ kind: 'timeout' });
  expect(await readContracts(3)).toEqual([PERHAPS_OUT_OF_GAS, READ, READ]);
  expect(sizes).toEqual([1, 1, 2]);
});

/** As many reads of one contract. */
const ofOneContract = (count: number) => makeReads(count).map((each) => ({ ...each, contract: '0xaa' }));

test('a callee whose reads take too long together gets smaller parts, and the batch size of others stays', async () => {
  const { limit, readContracts } = makeReading({});
  const sizes: number[] = [];
  const readSome = async (part: readonly Read[]) => {
    sizes.push(part.length);
    if (part.length > 2) throw new RpcFailure('timeout');
    return part.map(() => READ);
  };
  const read = () => readContracts(8, { reads: ofOneContract(8), readSome });
  const before = limit.current;
  for (const _ of [1, 2]) await expect(read()).rejects.toMatchObject({ kind: 'timeout' });
  expect(await read()).toEqual(Array(8).fill(READ));
  expect([sizes, limit.current]).toEqual([[8, 4, 2, 2, 2, 2], before]);
});

test('a callee that returns too much together is halved until its answers fit', async () => {
  const { readContracts } = makeReading({});
  const readSome = async (part: readonly Read[]) => {
    if (part.length > 2) throw new RpcFailure('endless');
    return part.map(() => READ);
  };
  expect(await readContracts(8, { reads: ofOneContract(8), readSome })).toEqual(Array(8).fill(READ));
});

test('a native balance that takes too long alone is read as before', async () => {
  const { readContracts } = makeReading({ 0: 'timeout' });
  const reads = makeReads(1).map((each) => ({ ...each, kind: 'native' as const }));
  for (const _ of [1, 2, 3])
    await expect(readContracts(1, { reads })).rejects.toMatchObject({ kind: 'timeout' });
});

test('a contract beside one that fails their call is read with others again, whatever it answers', async () => {
  const { readContracts } = makeReading({ 0: 'endless' });
  const reverted = failed('call-reverted');
  const sizes: number[] = [];
  const readSome = async (part: readonly Read[]) => {
    sizes.push(part.length);
    if (part.some(({ key }) => key === '0')) throw new RpcFailure('endless');
    return part.map(() => reverted);
  };
  await expect(readContracts(3, { readSome })).rejects.toMatchObject({ kind: 'endless' });
  for (const _ of [1, 2])
    expect(await readContracts(3, { readSome })).toEqual([PERHAPS_OUT_OF_GAS, reverted, reverted]);
  expect(sizes).toEqual([3, 1, 1, 1, 2]);
});

test('a function that a client names does not keep the balances of its contract from being read with others', async () => {
  const { readContracts } = makeReading({ 1: 'endless' });
  const named = { contract: '0xaa', kind: 'call', call: { calldata: '12345678' } };
  const reads = makeReads(3).map((each, index) => ({ ...each, contract: '0xaa', ...(index === 1 && named) }));
  await expect(readContracts(3, { reads })).rejects.toMatchObject({ kind: 'endless' });
  for (const _ of [1, 2]) expect(await readContracts(3, { reads })).toEqual([READ, PERHAPS_OUT_OF_GAS, READ]);
});

test('an endpoint that times out for a read of our own too makes no contract heavy', async () => {
  const { readContracts, sizes } = makeReading(ALL('timeout'), { own: new RpcFailure('timeout') });
  await expect(readContracts(8)).rejects.toMatchObject({ kind: 'timeout' });
  await expect(readContracts(8)).rejects.toMatchObject({ kind: 'timeout' });
  expect(sizes).toEqual([8, ...Array(8).fill(1)]);
});

test('a lone read whose answer has no end is the fault of its contract once the endpoint has read something else', async () => {
  expect(await makeReading({ 0: 'endless' }).read(1)).toEqual([failed('return-malformed')]);
  const own = new RpcFailure('endless');
  await expect(makeReading({ 0: 'endless' }, { own }).read(1)).rejects.toMatchObject({ kind: 'endless' });
});
