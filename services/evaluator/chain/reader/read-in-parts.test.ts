import { failed, type Read } from '../../domain/read.ts';
import { Endpoint } from '../endpoints/endpoint.ts';
import type { Rpc } from '../rpc/connect-rpc.ts';
import { type FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';
import { readInParts } from './read-in-parts.ts';
import { PERHAPS_OUT_OF_GAS } from './readings.ts';

const READ = { ok: true, value: 5n } as const;
const makeReads = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ key: String(index) }) as Read);

/** Reads from an endpoint where some reads bring down the whole call that they travel in. */
function makeReading(bad: Readonly<Record<string, FailureKind>>, perCallMax?: number) {
  const endpoint = new Endpoint({
    ...{
      name: '0',
      rpc: {} as Rpc,
      maxCallsPerBatch: perCallMax,
      rateShare: undefined,
      monotonicMs: () => 0,
    },
    observer: { onCall: () => undefined },
  });
  const sizes: number[] = [];
  const timeouts: number[] = [];
  const read = (count: number, isSuspect = false) =>
    readInParts({
      endpoint,
      reads: makeReads(count),
      isSuspect,
      onTimeout: () => timeouts.push(1),
      readSome: (part, { use }) =>
        use(new AbortController().signal, async () => {
          sizes.push(part.length);
          const kind = part.map(({ key }) => bad[key]).find((one) => one !== undefined);
          if (kind !== undefined) throw new RpcFailure(kind);
          return part.map(() => READ);
        }),
    });
  return { endpoint, sizes, timeouts, read };
}

test.each(['rpc-error', 'endless', 'gas-exhausted'] as const)(
  'one read that ends in %s does not fail the others or open the breaker',
  async (kind) => {
    const { endpoint, read } = makeReading({ 77: kind });
    const readings = await read(100);
    expect(readings.filter((reading) => reading === READ)).toHaveLength(99);
    expect(readings[77]).toMatchObject({ ok: false });
    expect({ state: endpoint.breakerState, strikes: endpoint.strikes }).toEqual({
      state: 'closed',
      strikes: 0,
    });
  },
);

test('an endpoint that reads nothing fails once, however many calls it took', async () => {
  const { endpoint, read } = makeReading(
    Object.fromEntries(makeReads(8).map(({ key }) => [key, 'rpc-error'])),
  );
  await expect(read(8)).rejects.toMatchObject({ kind: 'rpc-error' });
  expect(endpoint.strikes).toBe(1);
});

test.each(['gas-exhausted', 'reverted'] as const)(
  'a lone read that brings down its call with %s is the fault of the endpoint, for another one to answer',
  async (kind) => {
    await expect(makeReading({ 0: kind }).read(1)).rejects.toMatchObject({ kind });
  },
);

test('a lone read is repeated in isolation before a verdict if a contract can fail the whole call', async () => {
  expect(await makeReading({ 0: 'gas-exhausted' }).read(1, true)).toEqual([PERHAPS_OUT_OF_GAS]);
  expect(
    await makeReading({ 0: 'rpc-error' })
      .read(1, true)
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
  const readings = await makeReading({ 25: 'timeout' }, 10).read(30);
  expect(readings.map((reading) => reading === READ)).toEqual(makeReads(30).map((_, index) => index < 20));
});

test('no call carries more reads than the endpoint accepts, however large the batch is', async () => {
  const { sizes, read } = makeReading({}, 10);
  expect(await read(95)).toHaveLength(95);
  expect(sizes).toEqual([...Array(9).fill(10), 5]);
});

test('a read that times out is not held against its client until a cheap call was tried, and takes no room from others', async () => {
  const { endpoint, timeouts, read } = makeReading({ 0: 'timeout' });
  const readsPerCall = endpoint.limit.current;
  for (let times = 0; times < 5; times++) await expect(read(1)).rejects.toMatchObject({ kind: 'timeout' });
  expect({ strikes: endpoint.strikes, asked: timeouts.length }).toEqual({ strikes: 0, asked: 5 });
  expect(endpoint.limit.current).toBe(readsPerCall);
});
