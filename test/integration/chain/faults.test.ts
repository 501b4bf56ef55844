import type { UndeterminedCode } from '#shared/contracts/checks/result.ts';
import { demoTokens } from '../../../deploy/local/demo/demo-tokens.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { MULTICALL3_ADDRESS } from '../../../services/evaluator/chain/reader/read-by-multicall3.ts';
import { deployCode, HOSTILE_CODE } from '../../support/contracts/hostile-contracts.ts';
import { MULTICALL3_CODE } from '../../support/contracts/multicall3-code.ts';
import { aRule, codesOf, faultProxies, grantedOf } from '../../support/fakes/chain-checks.ts';
import type { FaultKind } from '../../support/fakes/rpc-fault-proxy.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';
import { waitUntil, waitUntilPasses } from '../../support/wait-until.ts';

// Scenario: the endpoints of a real chain fail in every known way, alone and beside working ones.
// Each fault must have its own code, and none may be taken for a balance.

let rpcUrl: string;
const aProxy = faultProxies();

beforeAll(() => {
  rpcUrl = infrastructure().rpcUrl;
});

const account = demoTokens.holder;

const FAULTS: readonly [FaultKind, UndeterminedCode][] = [
  ['refuse', 'rpc-unavailable'],
  ['reset', 'rpc-unavailable'],
  ['http-429', 'rpc-unavailable'],
  ['http-500', 'rpc-unavailable'],
  ['http-503', 'rpc-unavailable'],
  ['malformed', 'rpc-unavailable'],
  ['endless-body', 'rpc-unavailable'],
  ['rpc-error', 'rpc-unavailable'],
  ['short-batch', 'rpc-unavailable'],
  ['wrong-id', 'rpc-unavailable'],
  ['wrong-chain-id', 'rpc-unavailable'],
  ['hang', 'rpc-timeout'],
  ['unknown-block', 'block-unavailable'],
  ['ignored-pin', 'block-mismatch'],
];

/** Judges every fault at the same time: a test mostly waits. Each gets a chain of its own. */
const forEachFault = <T>(
  judge: (kind: FaultKind, limits: object) => Promise<T>,
): Promise<(readonly [FaultKind, T])[]> =>
  Promise.all(
    FAULTS.map(async ([kind]) => {
      // Only where an answer never comes does a test wait for the time limit.
      const limits = kind === 'hang' ? { attemptTimeoutMs: 1_000, evaluationMsMax: 10_000 } : {};
      return [kind, await judge(kind, limits)] as const;
    }),
  );

test('an endpoint with each fault gives its code and no verdict when it is the only one, from the start', async () => {
  const results = await forEachFault(async (kind, limits) => {
    const proxy = await aProxy(kind);
    await using chains = connectTestChains([{ urls: [proxy.url] }], limits);
    const result = await chains.judge({ account, rules: [aRule()] });
    return { roles: result.roles, codes: codesOf(result), blocks: result.blocks };
  });
  expect(results).toEqual(FAULTS.map(([kind, code]) => [kind, { roles: [], codes: [code], blocks: {} }]));
});

test('an endpoint with each fault gives no wrong verdict when it begins to fail later, and a right one once it has recovered', async () => {
  const results = await forEachFault(async (kind, limits) => {
    const proxy = await aProxy();
    await using chains = connectTestChains([{ urls: [proxy.url] }], limits);
    const decide = () =>
      waitUntil(`a decision after ${kind}`, async () => {
        const result = await chains.judge({ account, rules: [aRule()] });
        return result.roles.length > 0 && result;
      });
    const before = grantedOf(await decide());
    await callJsonRpc(rpcUrl, 'anvil_mine', ['0x1']);
    await proxy.setFault(kind);
    const during = grantedOf(await chains.judge({ account: demoTokens.stranger, rules: [aRule()] }));
    await proxy.setFault('none');
    return { before, during, after: grantedOf(await decide()) };
  });
  expect(results).toEqual(
    FAULTS.map(([kind]) => {
      // The chain id is not asked for again while nothing fails: the block proves the chain.
      const isUnnoticed = kind === 'wrong-chain-id';
      return [kind, { before: [true], during: isUnnoticed ? [false] : [], after: [true] }];
    }),
  );
});

test('an endpoint with each fault costs only its own calls beside a working endpoint', async () => {
  const results = await forEachFault(async (kind) => {
    const proxy = await aProxy(kind);
    const limits = kind === 'hang' ? { attemptTimeoutMs: 4_000, evaluationMsMax: 30_000 } : {};
    await using chains = connectTestChains([{ urls: [proxy.url, rpcUrl] }], limits);
    const rounds = [];
    for (let round = 0; round < 5; round++) {
      const result = await chains.judge({ account, rules: [aRule(), aRule({ minToken: '1500.500001' })] });
      rounds.push({ granted: grantedOf(result), errors: result.errors });
    }
    return rounds;
  });
  const right = { granted: [true, false], errors: [] };
  expect(results).toEqual(FAULTS.map(([kind]) => [kind, Array(5).fill(right)]));
});

test('an endpoint that fails during its probe is not downgraded for good', async () => {
  const proxy = await aProxy({ kind: 'rpc-error', methods: ['eth_call'] });
  await using chains = connectTestChains([{ urls: [proxy.url] }]);
  expect(codesOf(await chains.judge({ account, rules: [aRule()] }))).toEqual(['rpc-unavailable']);
  await proxy.setFault('none');
  await waitUntil('a verdict', async () => {
    const { roles, blocks } = await chains.judge({ account, rules: [aRule()] });
    return roles.length > 0 && blocks['31337']?.proved === true;
  });
});

test('the log has the state of each endpoint once, and clients see that the chain file must be corrected', async () => {
  const dead = await aProxy('refuse');
  const wrong = await aProxy('wrong-chain-id');
  const busy = await aProxy({ kind: 'http-429', methods: ['eth_call'] });
  await using chains = connectTestChains([
    { urls: [dead.url, wrong.url, rpcUrl] },
    { chainId: 5, urls: [busy.url] },
  ]);
  const healthOfFirst = () => chains.health.filter((line) => line.startsWith('31337/'));
  await waitUntil('the states of all endpoints', () => healthOfFirst().length >= 3);
  expect(grantedOf(await chains.judge({ account, rules: [aRule()] }))).toEqual([true]);
  expect(healthOfFirst().sort()).toEqual([
    '31337/0/down/unreachable',
    '31337/1/wrong-chain/wrong-chain',
    '31337/2/up/reader',
  ]);
  await using alone = connectTestChains([{ urls: [wrong.url] }]);
  for (let times = 0; times < 3; times++) {
    const { errors } = await alone.judge({ account, rules: [aRule()] });
    expect(errors).toMatchObject([{ code: 'rpc-unavailable', retryable: true }]);
    expect(errors[0]?.message).toContain('serves another chain');
    expect(errors[0]?.message).not.toContain('127.0.0.1');
  }
});

test.each(['hash-hangs', 'none'] as const)(
  'an endpoint with %s is read by a method that it supports',
  async (kind) => {
    const proxy = await aProxy(kind);
    await using chains = connectTestChains([{ urls: [proxy.url] }], { attemptTimeoutMs: 4_000 });
    const { roles, blocks } = await chains.judge({ account, rules: [aRule()] });
    expect({ granted: grantedOf({ roles }), proved: blocks['31337']?.proved }).toEqual({
      granted: [true],
      proved: true,
    });
  },
);

test('an endpoint that takes neither overrides nor block hashes is read through Multicall3 by block numbers', async () => {
  await callJsonRpc(rpcUrl, 'anvil_setCode', [MULTICALL3_ADDRESS, MULTICALL3_CODE]);
  try {
    const proxy = await aProxy('numbers-only');
    await using chains = connectTestChains([{ urls: [proxy.url] }]);
    const rules = [aRule(), aRule({ minToken: '1500.500001' })];
    const result = await chains.judge({ account, rules });
    expect({ granted: grantedOf(result), proved: result.blocks['31337']?.proved }).toEqual({
      granted: [true, false],
      proved: true,
    });
  } finally {
    await callJsonRpc(rpcUrl, 'anvil_setCode', [MULTICALL3_ADDRESS, '0x']);
  }
});

test('checks are answered at once while every breaker of a chain is open', async () => {
  const proxy = await aProxy('hang');
  await using chains = connectTestChains([{ urls: [proxy.url] }], { attemptTimeoutMs: 200 });
  await chains.judge({ account, rules: [aRule()] });
  // Checks that share the call with which the breaker probes the endpoint have its result; the
  // breaker stays open longer after each.
  await waitUntilPasses(async () => {
    const countBefore = proxy.calls.requestCount;
    const results = await Promise.all(
      Array.from({ length: 50 }, () => chains.judge({ account, rules: [aRule()] })),
    );
    const codes = results.flatMap(codesOf);
    expect(codes.filter((code) => code === 'rpc-unavailable').length).toBeGreaterThanOrEqual(49);
    expect(codes).toHaveLength(50);
    expect(proxy.calls.requestCount - countBefore).toBeLessThanOrEqual(2);
  });
});

test('a client that floods a hanging chain keeps only its share of the waiting checks', async () => {
  const proxy = await aProxy('hang');
  await using chains = connectTestChains([{ urls: [rpcUrl] }, { chainId: 5, urls: [proxy.url] }], {
    attemptTimeoutMs: 10_000,
    evaluationMsMax: 6_000,
    waitingMax: 40,
  });
  // Only the flood counts here, not the first read of the other chain on a busy machine.
  await waitUntil('a decision', async () => {
    const { roles } = await chains.judge({ account, clientId: 'app_2', rules: [aRule()] });
    return roles.length > 0;
  });
  const codes: string[] = [];
  const flood = Array.from({ length: 100 }, () =>
    chains
      .judge({ account, rules: [aRule({ chainId: 5 })] })
      .then((result) => codes.push(...codesOf(result))),
  );
  const sound = await chains.judge({ account, clientId: 'app_2', rules: [aRule()] });
  expect(grantedOf(sound)).toEqual([true]);
  await Promise.all(flood);
  const count = (code: string) => codes.filter((other) => other === code).length;
  expect({ sentAway: count('rpc-timeout'), waited: count('deadline-exceeded') }).toEqual({
    sentAway: 90,
    waited: 10,
  });
});

test('checks of a hanging chain are parked, and checks of a working chain are not', async () => {
  const proxy = await aProxy('hang');
  await using chains = connectTestChains([{ urls: [rpcUrl] }, { chainId: 5, urls: [proxy.url] }], {
    attemptTimeoutMs: 8_000,
    evaluationMsMax: 6_000,
  });
  // A busy machine may hold up the answers to one round for so long that its checks are parked, but
  // not to each.
  await waitUntil('checks that are not parked', async () => {
    const before = chains.parkedCount();
    await Promise.all(Array.from({ length: 20 }, () => chains.judge({ account, rules: [aRule()] })));
    return chains.parkedCount() === before;
  });
  const parkedBefore = chains.parkedCount();
  const waiting = Array.from({ length: 20 }, () => chains.judge({ account, rules: [aRule({ chainId: 5 })] }));
  await waitUntil('all to be parked', () => chains.parkedCount() === parkedBefore + waiting.length);
  await Promise.all(waiting);
});

test('a client that floods a chain with checks of a future block keeps only its share of the waiting checks', async () => {
  await using chains = connectTestChains([{ urls: [rpcUrl] }], {
    evaluationMsMax: 4_000,
    waitingMax: 40,
  });
  const minBlock = { '31337': Number(await callJsonRpc(rpcUrl, 'eth_blockNumber', [])) + 5 };
  // Only the wait for the block counts here, not the first read of a chain on a busy machine.
  await chains.judge({ account, rules: [aRule()] });
  const check = { account, rules: [aRule()], consistency: { blockTag: 'latest' as const, minBlock } };
  // A busy machine may hold up the head for so long that all checks are parked, but not in every
  // flood.
  await waitUntil('a flood of which only the share is parked', async () => {
    const before = chains.parkedCount();
    const results = await Promise.all(Array.from({ length: 100 }, () => chains.judge(check)));
    const codes = new Set(results.flatMap(codesOf));
    return codes.has('min-block-not-reached') && codes.size === 1 && chains.parkedCount() - before === 10;
  });
});

test('a hanging chain affects only its own rules', async () => {
  const proxy = await aProxy('hang');
  await using chains = connectTestChains([{ urls: [rpcUrl] }, { chainId: 5, urls: [proxy.url] }], {
    attemptTimeoutMs: 8_000,
    evaluationMsMax: 4_000,
  });
  // Only the hanging chain counts here, not the first read of the other one on a busy machine.
  await waitUntil('a decision', async () => {
    const { roles } = await chains.judge({ account, rules: [aRule()] });
    return roles.length > 0;
  });
  const result = await chains.judge({ account, rules: [aRule(), aRule({ chainId: 5 })] });
  expect(grantedOf(result)).toEqual([true]);
  expect(result.errors).toMatchObject([{ ruleIndex: 1, chainId: 5, code: 'deadline-exceeded' }]);
  expect(Object.keys(result.blocks)).toEqual(['31337']);
});

test('a head that no node has costs no verdict, although the endpoint that names it is the fastest', async () => {
  const liar = await aProxy('false-head');
  const others = await Promise.all([1, 2, 3].map(() => aProxy({ kind: 'none', delayMs: 30 })));
  await using chains = connectTestChains([{ urls: [liar, ...others].map(({ url }) => url) }]);
  for (let round = 0; round < 8; round++) {
    expect(grantedOf(await chains.judge({ account, rules: [aRule()] }))).toEqual([true]);
    await callJsonRpc(rpcUrl, 'anvil_mine', ['0x1']);
  }
});

describe('with a quorum of 2', () => {
  test('no endpoint alone sets checks back to an old block by an invented time', async () => {
    const liar = await aProxy('old-head');
    const others = await Promise.all([1, 2].map(() => aProxy({ kind: 'none', delayMs: 30 })));
    const urls = [liar, ...others].map(({ url }) => url);
    await using chains = connectTestChains([{ urls, quorum: 2 }]);
    for (let round = 0; round < 5; round++) {
      await callJsonRpc(rpcUrl, 'anvil_mine', ['0x1']);
      const head = (await callJsonRpc(rpcUrl, 'eth_getBlockByNumber', ['latest', false])) as {
        number: string;
        timestamp: string;
      };
      const { blocks } = await chains.judge({ account, rules: [aRule()] });
      const { number = 0, timestamp } = blocks['31337'] ?? {};
      // A head is at most 500 ms old, and one of this file's other blocks may have come meanwhile.
      expect(number).toBeGreaterThan(Number(head.number) - 5);
      const own = (await callJsonRpc(rpcUrl, 'eth_getBlockByNumber', [
        `0x${number.toString(16)}`,
        false,
      ])) as { timestamp: string };
      expect(timestamp).toBe(Number(own.timestamp));
    }
  });

  test('two honest endpoints outvote a lying one', async () => {
    const liar = await aProxy('altered-balance');
    const [one, two] = [await aProxy(), await aProxy()];
    await using chains = connectTestChains([{ urls: [liar.url, one.url, two.url], quorum: 2 }]);
    for (let round = 0; round < 10; round++) {
      const rules = [aRule({ minToken: '1500.500001' }), aRule()];
      const result = await chains.judge({ account, rules });
      expect({ granted: grantedOf(result), errors: result.errors }).toEqual({
        granted: [false, true],
        errors: [],
      });
      await callJsonRpc(rpcUrl, 'anvil_mine', ['0x1']);
    }
  });

  test('a lying endpoint beside one honest endpoint is a disagreement', async () => {
    const liar = await aProxy('altered-balance');
    const sound = await aProxy();
    await using chains = connectTestChains([{ urls: [liar.url, sound.url], quorum: 2 }]);
    const result = await chains.judge({ account, rules: [aRule({ minToken: '1500.500001' })] });
    expect({ roles: result.roles, codes: codesOf(result) }).toEqual({
      roles: [],
      codes: ['rpc-disagreement'],
    });
  });

  test('one dead endpoint of two leaves too few equal answers', async () => {
    const dead = await aProxy('refuse');
    await using chains = connectTestChains([{ urls: [dead.url, rpcUrl], quorum: 2 }]);
    const result = await chains.judge({ account, rules: [aRule()] });
    expect(result.roles).toEqual([]);
    expect(['rpc-disagreement', 'rpc-unavailable']).toEqual(expect.arrayContaining(codesOf(result)));
  });

  test('the answer of one endpoint alone is not kept, and the verdict comes once the other one is back', async () => {
    const [one, two] = [await aProxy(), await aProxy()];
    await using chains = connectTestChains([{ urls: [one.url, two.url], quorum: 2 }]);
    expect(grantedOf(await chains.judge({ account, rules: [aRule({ minToken: '1' })] }))).toEqual([true]);
    await callJsonRpc(rpcUrl, 'anvil_mine', ['0x1']);
    const other = await deployCode(rpcUrl, HOSTILE_CODE.decimals255);
    const rules = [{ ...aRule(), contractAddress: other, minToken: `0.${'0'.repeat(35)}1` }];
    await two.setFault({ kind: 'http-503', methods: ['eth_call'] });
    expect((await chains.judge({ account, rules })).roles).toEqual([]);
    await two.setFault('none');
    await waitUntil('a verdict', async () => (await chains.judge({ account, rules })).roles.length > 0);
    await callJsonRpc(rpcUrl, 'anvil_mine', ['0x1']);
    expect(grantedOf(await chains.judge({ account: demoTokens.stranger, rules }))).toEqual([false]);
  });

  test('an endpoint that lags behind does not stop the other two', async () => {
    const stale = await aProxy('stale-head');
    const [one, two] = [await aProxy(), await aProxy()];
    await using chains = connectTestChains([{ urls: [stale.url, one.url, two.url], quorum: 2 }]);
    for (let round = 0; round < 5; round++)
      expect(grantedOf(await chains.judge({ account, rules: [aRule()] }))).toEqual([true]);
  });
});

test('calls beyond the share of an endpoint wait', async () => {
  const proxy = await aProxy();
  await using chains = connectTestChains([{ urls: [proxy.url], requestsPerSecond: 20 }]);
  const started = performance.now();
  for (let round = 0; round < 8; round++) {
    await callJsonRpc(rpcUrl, 'anvil_mine', ['0x1']);
    expect(grantedOf(await chains.judge({ account, rules: [aRule()] }))).toEqual([true]);
  }
  const seconds = (performance.now() - started) / 1_000;
  // A burst of one second's worth, and then the rate.
  expect(proxy.calls.requestCount).toBeLessThanOrEqual(20 + Math.ceil(seconds * 20));
});
