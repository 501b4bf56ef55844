import { setImmediate as nextTurn } from 'node:timers/promises';
import { waitUntil } from '../../../../test/support/wait-until.ts';
import type { Rpc, RpcRequest } from '../rpc/connect-rpc.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import { BlockTime } from './block-time.ts';
import { NOT_YET_MS } from './call-lag.ts';
import { type Capabilities, Endpoint } from './endpoint.ts';
import { EndpointPool } from './endpoint-pool.ts';

const CAPABLE: Capabilities = { method: 'reader', pin: 'hash', source: 'evm', fromBlock: 0 };
/** The node of every endpoint: it has the block of each number. */
const RPC = {
  call: async ({ params }: RpcRequest) => ({
    number: (JSON.parse(params) as [string])[0],
    hash: `0x${'aa'.repeat(32)}`,
    parentHash: `0x${'bb'.repeat(32)}`,
    timestamp: '0x0',
  }),
} as unknown as Rpc;
const signal = new AbortController().signal;

function makePool(
  count: number,
  over: {
    probe?: () => Promise<Capabilities>;
    tryOut?: () => Promise<unknown>;
    quorum?: number;
    rateShare?: () => number;
  } = {},
) {
  const clock = { ms: 0 };
  const health: string[] = [];
  const monotonicMs = () => clock.ms;
  const endpoints = Array.from(
    { length: count },
    (_, index) =>
      new Endpoint({
        name: String(index),
        rpc: RPC,
        rateShare: over.rateShare,
        monotonicMs,
      }),
  );
  const pool = new EndpointPool({
    endpoints,
    quorum: over.quorum ?? 1,
    probe: over.probe ?? (async () => CAPABLE),
    tryOut: (endpoint, _, strikesOf) =>
      endpoint.use(signal, over.tryOut ?? (async () => undefined), 'call', strikesOf),
    blockTime: new BlockTime(1_000),
    onHedge: () => undefined,
    onHealth: ({ name }, { state, reason, method }) =>
      void health.push(`${name} ${state} ${reason ?? method}`),
    onQuiet: () => undefined,
    onSilence: () => undefined,
    monotonicMs,
  });
  const names = (candidates: readonly Endpoint[]) => candidates.map(({ name }) => name).join('');
  /** One call of an endpoint that takes so long, and fails where told. */
  const call = (index: number, durationMs: number, failure?: RpcFailure) =>
    endpoints[index]?.use(signal, async () => {
      clock.ms += durationMs;
      if (failure !== undefined) throw failure;
    });
  return { clock, endpoints, pool, health, names, call };
}

test('the fastest endpoint comes first, and an endpoint behind the block comes last', async () => {
  const { pool, endpoints, names, call } = makePool(3);
  await call(0, 50);
  await call(1, 10);
  await call(2, 1);
  for (const [index, endpoint] of endpoints.entries()) endpoint.headNumber = index === 2 ? 80 : 100;
  const block = { number: 100, hash: '', parentHash: '', timestamp: 0 };
  expect(names(pool.candidates(block))).toBe('102');
  await pool[Symbol.asyncDispose]();
});

const blockAt = (number: number, hash = `0x${number}`) => ({
  ...{ number, hash, parentHash: '', timestamp: 0 },
});

/** A pool of three endpoints, of which the first one, the fastest, has named a head that no node
 * has. */
async function aPoolWithFalseHead(over: Parameters<typeof makePool>[1] = {}) {
  const made = makePool(3, over);
  const { pool, endpoints, call } = made;
  for (const [index, ms] of [1, 10, 20].entries()) await call(index, ms);
  const [liar, second, third] = endpoints;
  if (liar === undefined || second === undefined || third === undefined) throw new Error('no endpoints');
  for (const honest of [second, third]) pool.noteHead(honest, blockAt(100));
  pool.noteHead(liar, blockAt(9_000));
  pool.ageMs(blockAt(9_000, `0x${'aa'.repeat(32)}`));
  made.clock.ms += NOT_YET_MS;
  return { ...made, liar };
}

const refuse = async () => {
  throw new RpcFailure('block-unavailable');
};

test('an endpoint that cannot read at the head that it named itself comes last for heads, and no other one counts as behind', async () => {
  const tryOut = jest.fn(refuse);
  const { pool, liar, names, clock } = await aPoolWithFalseHead({ tryOut });
  expect(names(pool.candidates())).toBe('012');
  pool.doubtHead(liar, blockAt(9_000, `0x${'aa'.repeat(32)}`));
  await waitUntil('the trial', () => tryOut.mock.calls.length === 1);
  await nextTurn();
  expect([names(pool.candidates()), names(pool.candidates(blockAt(100)))]).toEqual(['120', '012']);
  expect(pool.isBuried(blockAt(100))).toBe(false);
  clock.ms += 59_000;
  pool.noteHead(liar, blockAt(9_001));
  expect(names(pool.candidates())).toBe('120');
  clock.ms += 1_000;
  expect(names(pool.candidates())).toBe('012');
  pool.doubtHead(liar, blockAt(9_000, `0x${'aa'.repeat(32)}`));
  clock.ms += 119_000;
  expect(names(pool.candidates())).toBe('120');
  await pool[Symbol.asyncDispose]();
});

test.each([
  ['it can read there by a call of the service’s own', undefined, `0x${'aa'.repeat(32)}`],
  ['another block has replaced it, however new', refuse, `0x${'cc'.repeat(32)}`],
])('the head of an endpoint counts again once it shows that %s', async (_, tryOut, hash) => {
  const { pool, liar, names } = await aPoolWithFalseHead(tryOut && { tryOut });
  pool.doubtHead(liar, blockAt(9_000, hash));
  // The next look for a head asks another one.
  expect(names(pool.candidates())).toBe('120');
  await waitUntil('trust', () => names(pool.candidates()) === '012');
  await pool[Symbol.asyncDispose]();
});

test.each([
  ['stays first, as it can read there a little later', async () => undefined, '01'],
  ['comes last once it cannot read there a little later', refuse, '10'],
])('an endpoint whose head has no logs yet %s', async (_, read, order) => {
  const tryOut = jest.fn(read);
  const { pool, endpoints, names, call, clock } = makePool(2, { tryOut });
  for (const [index, endpoint] of endpoints.entries()) {
    await call(index, index === 0 ? 1 : 10);
    pool.noteHead(endpoint, blockAt(9_000, `0x${'aa'.repeat(32)}`));
  }
  clock.ms += NOT_YET_MS - 20;
  for (const endpoint of [endpoints[0], endpoints[0]] as Endpoint[])
    pool.doubtHead(endpoint, blockAt(9_000, `0x${'aa'.repeat(32)}`), { isAside: true });
  expect(names(pool.candidates())).toBe('01');
  await waitUntil('the trial', () => tryOut.mock.calls.length === 1);
  await nextTurn();
  expect(tryOut).toHaveBeenCalledTimes(1);
  expect(names(pool.candidates())).toBe(order);
  await pool[Symbol.asyncDispose]();
});

test.each([
  [1, 1],
  [2, 2],
])(
  'of %i endpoints and a quorum of %i a distrusted one still shows which blocks are old',
  async (count, quorum) => {
    const { pool, endpoints } = makePool(count, { quorum });
    for (const endpoint of endpoints) pool.noteHead(endpoint, blockAt(9_000));
    for (const endpoint of endpoints.slice(0, 1)) pool.distrustHeads(endpoint);
    expect([pool.isBuried(blockAt(100)), pool.isBuried(blockAt(9_000))]).toEqual([true, false]);
    await pool[Symbol.asyncDispose]();
  },
);

test('with a quorum one head that is too high makes no other endpoint count as behind', async () => {
  const { pool, names } = await aPoolWithFalseHead({ quorum: 2 });
  expect(names(pool.candidates())).toBe('012');
  expect(pool.isBuried(blockAt(100))).toBe(false);
  await pool[Symbol.asyncDispose]();
});

test('an endpoint that fails falls behind, is left out, and comes back by one good call', async () => {
  const { pool, names, call, clock, endpoints } = makePool(2);
  const fail = () => call(0, 1, new RpcFailure('unreachable'))?.catch(() => undefined);
  await fail();
  expect(names(pool.candidates())).toBe('10');
  for (let times = 0; times < 5; times++) await fail();
  expect(names(pool.candidates())).toBe('1');
  expect(endpoints[0]?.capabilities).toBeUndefined();
  clock.ms += 1_000;
  await call(0, 1);
  expect(names(pool.candidates())).toHaveLength(2);
  await pool[Symbol.asyncDispose]();
});

test('an endpoint gets no calls during its Retry-After, and is reported as rate-limited, not down', async () => {
  const { pool, names, call, clock } = makePool(1);
  await call(0, 0, new RpcFailure('rate-limited', { retryAfterMs: 700 }))?.catch(() => undefined);
  expect({ candidates: names(pool.candidates()), readyInMs: pool.readyInMs(new Set()) }).toEqual({
    candidates: '',
    readyInMs: 700,
  });
  expect(pool.readyInMs(new Set(pool.endpoints))).toBeUndefined();
  clock.ms += 700;
  expect({ candidates: names(pool.candidates()), readyInMs: pool.readyInMs(new Set()) }).toEqual({
    candidates: '0',
    readyInMs: undefined,
  });
  await pool[Symbol.asyncDispose]();
});

test('hedging adds at most one call in twenty', async () => {
  const { pool, call, endpoints } = makePool(2);
  for (let times = 0; times < 30; times++) await call(0, 10);
  const [endpoint] = endpoints;
  let hedgeCount = 0;
  for (let calls = 0; calls < 10_000; calls++) {
    if (endpoint === undefined || pool.hedgeAfterMs(endpoint) === undefined) continue;
    hedgeCount += 1;
    pool.spendHedge();
  }
  expect(hedgeCount).toBeGreaterThan(400);
  expect(hedgeCount).toBeLessThanOrEqual(10_000 * 0.05 + 3);
  await pool[Symbol.asyncDispose]();
});

test('an endpoint is probed once for all who need it, and again after a probe that failed', async () => {
  let probeCount = 0;
  const probe = async () => {
    probeCount += 1;
    if (probeCount === 1) throw new RpcFailure('unreachable');
    return CAPABLE;
  };
  const { pool, endpoints } = makePool(1, { probe });
  const [endpoint] = endpoints;
  if (endpoint === undefined) throw new Error('no endpoint');
  await expect(pool.capabilitiesOf(endpoint)).rejects.toThrow('unreachable');
  expect(await Promise.all([pool.capabilitiesOf(endpoint), pool.capabilitiesOf(endpoint)])).toEqual([
    CAPABLE,
    CAPABLE,
  ]);
  await pool.capabilitiesOf(endpoint);
  expect(probeCount).toBe(2);
  await pool[Symbol.asyncDispose]();
});

test('an endpoint without a read method is probed less and less often until it recovers', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] });
  let isWell = false;
  let probeCount = 0;
  const probe = async () => {
    probeCount += 1;
    if (!isWell) throw new RpcFailure('block-mismatch');
    return CAPABLE;
  };
  const { pool, clock, endpoints } = makePool(1, { probe });
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 250) {
      clock.ms += 250;
      jest.advanceTimersByTime(250);
      await nextTurn();
    }
  };
  await pass(60_000);
  expect(probeCount).toBeGreaterThan(8);
  expect(probeCount).toBeLessThan(16);
  isWell = true;
  await pass(8_250);
  expect(endpoints[0]?.capabilities).toEqual(CAPABLE);
  await pool[Symbol.asyncDispose]();
  jest.useRealTimers();
});

test('an endpoint that is probed with the same outcome is probed less and less often, and soon again after a change', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] });
  const pausesS: number[] = [];
  let probedAtMs = 0;
  let found: Capabilities = { ...CAPABLE, method: 'plain' };
  const { pool, clock } = makePool(1, {
    probe: async () => {
      pausesS.push(Math.floor((clock.ms - probedAtMs) / 1_000));
      probedAtMs = clock.ms;
      return { ...found, fromBlock: clock.ms };
    },
  });
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 250) {
      clock.ms += 250;
      pool.candidates();
      jest.advanceTimersByTime(250);
      await nextTurn();
    }
  };
  await pass(1_100_000);
  expect(pausesS).toEqual([0, 60, 120, 240, 300, 300]);
  found = CAPABLE;
  await pass(310_000);
  expect(pausesS.slice(6)).toEqual([300, 60]);
  await pool[Symbol.asyncDispose]();
  jest.useRealTimers();
});

test('a pool in which calls wait and none is answered is silent', async () => {
  const { pool, endpoints, clock } = makePool(1);
  const never = Promise.withResolvers<void>();
  const flying = endpoints[0]?.use(signal, () => never.promise);
  await nextTurn();
  expect(pool.isSilent).toBe(false);
  clock.ms += 2_000;
  expect(pool.isSilent).toBe(true);
  never.resolve();
  await flying;
  expect(pool.isSilent).toBe(false);
  await pool[Symbol.asyncDispose]();
});

/** A pool of one endpoint whose capabilities are known. */
async function makeProbed(tryOut: () => Promise<void>) {
  const { pool, endpoints, clock } = makePool(1, { tryOut });
  const [endpoint] = endpoints;
  if (endpoint === undefined) throw new Error('no endpoint');
  await pool.capabilitiesOf(endpoint);
  return { pool, endpoint, clock };
}

const REFUSED = { words: 'what is this?', isErrorAnswer: true };

test.each([
  ['a failure', new RpcFailure('timeout'), 4],
  ['an error in unknown words', new RpcFailure('rpc-error', REFUSED), 2],
  [
    'an error about a block that the endpoint itself returned',
    new RpcFailure('block-unavailable', REFUSED),
    2,
  ],
  ['a rate limit', new RpcFailure('rate-limited', REFUSED), 0],
])('%s of the service’s own call is what counts after a failed call of a client', async (_, own, strikes) => {
  for (const [outcome, expected] of [
    [undefined, 0],
    [own, strikes],
  ] as const) {
    const { pool, endpoint, clock } = await makeProbed(async () => {
      if (outcome !== undefined) throw outcome;
    });
    pool.doubt(endpoint, 'call');
    clock.ms += 1_000;
    pool.doubt(endpoint, 'call');
    await nextTurn();
    expect(endpoint.strikes).toBe(expected);
    await pool[Symbol.asyncDispose]();
  }
});

test('an endpoint that fails all calls is out after three trials, one in a second', async () => {
  const tryOut = jest.fn(async () => {
    throw new RpcFailure('rpc-error', REFUSED);
  });
  const { pool, endpoint, clock } = await makeProbed(tryOut);
  for (let doubts = 0; doubts <= 30; doubts += 1) {
    pool.doubt(endpoint, 'call');
    await nextTurn();
    // A head that is served in between says nothing about calls.
    await endpoint.use(signal, async () => undefined).catch(() => undefined);
    clock.ms += 100;
  }
  expect([tryOut.mock.calls.length, endpoint.breakerState]).toEqual([3, 'open']);
  await pool[Symbol.asyncDispose]();
});

test('an endpoint that answers in between is not tried out', async () => {
  const tryOut = jest.fn(async () => undefined);
  const { pool, endpoint, clock } = await makeProbed(tryOut);
  for (let doubts = 0; doubts < 20; doubts += 1) {
    pool.doubt(endpoint, 'call');
    await nextTurn();
    clock.ms += 500;
    await endpoint.useForClient(signal, async () => undefined, 'call');
    clock.ms += 500;
  }
  expect(tryOut).not.toHaveBeenCalled();
  await pool[Symbol.asyncDispose]();
});

test('an endpoint that answers the calls of our own is tried out ever less often, down to once in four seconds', async () => {
  const tryOut = jest.fn(async () => undefined);
  const { pool, endpoint, clock } = await makeProbed(tryOut);
  const doubtedAtMs: number[] = [];
  tryOut.mockImplementation(async () => void doubtedAtMs.push(clock.ms - beganMs));
  const beganMs = clock.ms;
  for (let doubts = 0; doubts < 160; doubts += 1) {
    pool.doubt(endpoint, 'call');
    await nextTurn();
    clock.ms += 100;
  }
  expect(doubtedAtMs).toEqual([1_000, 3_000, 7_000, 11_000, 15_000]);
  await pool[Symbol.asyncDispose]();
});

test('a failed call of a client adds no strike and delays no other call, whatever it was answered', async () => {
  const { pool, endpoints, names } = makePool(1);
  const [endpoint] = endpoints;
  for (const failure of [
    new RpcFailure('rate-limited', { retryAfterMs: 60_000 }),
    new RpcFailure('wrong-chain'),
    new RpcFailure('timeout'),
    new RpcFailure('rpc-error', REFUSED),
  ])
    await endpoint?.useForClient(signal, () => Promise.reject(failure), 'head').catch(() => undefined);
  expect([endpoint?.strikes, names(pool.candidates())]).toEqual([0, '0']);
  await pool[Symbol.asyncDispose]();
});

test('reports the health of an endpoint once per change, and not more often than its bound', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] });
  const { pool, clock, call, health } = makePool(1);
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 250) {
      clock.ms += 250;
      jest.advanceTimersByTime(250);
      await nextTurn();
    }
  };
  await pass(1_000);
  expect(health).toEqual(['0 up reader']);
  await pass(20_000);
  await call(0, 1, new RpcFailure('wrong-chain'))?.catch(() => undefined);
  await pass(500);
  expect(health.slice(1)).toEqual(['0 wrong-chain wrong-chain']);
  // Its state flaps: the final state is reported when the bound on reports allows it.
  await call(0, 1);
  await pass(5_000);
  expect(health).toHaveLength(2);
  await pass(10_000);
  expect(health.slice(2)).toEqual(['0 up reader']);
  await pool[Symbol.asyncDispose]();
  jest.useRealTimers();
});

test('calls that serve one client alone take at most a quarter of the rate', async () => {
  const { endpoints, pool } = makePool(1, { rateShare: () => 8 });
  const [endpoint] = endpoints;
  const end = new AbortController();
  const named = [1, 2, 3].map(() =>
    endpoint
      ?.forClients(true)
      .use(end.signal, async () => 'answered')
      .catch(({ kind }) => kind),
  );
  expect(await Promise.all(named.slice(0, 2))).toEqual(['answered', 'answered']);
  const heads = [1, 2, 3, 4, 5, 6].map(() => endpoint?.use(signal, async () => 'answered'));
  expect(await Promise.all(heads)).toEqual(heads.map(() => 'answered'));
  end.abort();
  expect(await named[2]).toBe('abandoned');
  await pool[Symbol.asyncDispose]();
});

describe('a chain', () => {
  const fail = (kind: 'unreachable' | 'rate-limited') => new RpcFailure(kind);
  const idle = 16_000;

  test('can be read while one endpoint answers, and cannot once the breakers of all are open', async () => {
    const { pool, endpoints, call } = makePool(2);
    for (const endpoint of endpoints) endpoint.learn(CAPABLE);
    pool.candidates();
    const openBreakerOf = async (index: number) => {
      for (let times = 0; times < 6; times++)
        await call(index, 1, fail('unreachable'))?.catch(() => undefined);
    };
    await openBreakerOf(0);
    expect(pool.isReadable()).toBe(true);
    await openBreakerOf(1);
    expect(pool.isReadable()).toBe(false);
    await pool[Symbol.asyncDispose]();
  });

  test('is not judged before a probe has ended, nor while no check asks', async () => {
    const { pool, endpoints, clock } = makePool(1, { probe: () => new Promise(() => undefined) });
    expect(pool.isReadable()).toBeUndefined();
    pool.candidates();
    expect(pool.isReadable()).toBeUndefined();
    endpoints[0]?.learn(CAPABLE);
    expect(pool.isReadable()).toBe(true);
    clock.ms += idle;
    expect(pool.isReadable()).toBeUndefined();
    // Calls that no check waits for say nothing of what checks would find.
    pool.candidates(undefined, { isAside: true });
    expect(pool.isReadable()).toBeUndefined();
    await pool[Symbol.asyncDispose]();
  });

  test('cannot be read while its endpoint leaves calls without an answer', async () => {
    const { pool, endpoints, clock } = makePool(1);
    endpoints[0]?.learn(CAPABLE);
    const { promise, resolve } = Promise.withResolvers<void>();
    const hanging = endpoints[0]?.use(signal, () => promise);
    await nextTurn();
    pool.candidates();
    clock.ms += 1_600;
    expect(pool.isReadable()).toBe(false);
    resolve();
    await hanging;
    expect(pool.isReadable()).toBe(true);
    await pool[Symbol.asyncDispose]();
  });

  test('cannot be read while its endpoint refuses every call by its rate limit', async () => {
    const { pool, endpoints, clock, call } = makePool(1);
    endpoints[0]?.learn(CAPABLE);
    const answer = () => endpoints[0]?.use(signal, async () => undefined, 'call');
    await answer();
    await call(0, 1, fail('rate-limited'))?.catch(() => undefined);
    pool.candidates();
    expect(pool.isReadable()).toBe(true);
    clock.ms += idle;
    await call(0, 1, fail('rate-limited'))?.catch(() => undefined);
    pool.candidates();
    expect(pool.isReadable()).toBe(false);
    await answer();
    expect(pool.isReadable()).toBe(true);
    await pool[Symbol.asyncDispose]();
  });
});
