import { demoTokens } from '../../../deploy/local/demo/demo-tokens.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { aRule, codesOf, faultProxies, grantedOf } from '../../support/fakes/chain-checks.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: checks ask for a block (a minimum, a safe or a finalized one) on a real chain that
// grows. Their balances are read at such a block or not at all.

let rpcUrl: string;
const aProxy = faultProxies();

beforeAll(() => {
  rpcUrl = infrastructure().rpcUrl;
});

const account = demoTokens.holder;

const consistency = (minBlock: number, blockTag: 'latest' | 'safe' | 'finalized' = 'latest') => ({
  consistency: { blockTag, minBlock: { '31337': minBlock } },
});
const headNumber = async () => Number(await callJsonRpc(rpcUrl, 'eth_blockNumber', []));

test('a check waits for its minimum block and reads at it or later', async () => {
  await using chains = connectTestChains([{ urls: [rpcUrl] }]);
  const wanted = (await headNumber()) + 2;
  const judged = chains.judge({ account, rules: [aRule()], ...consistency(wanted) });
  await callJsonRpc(rpcUrl, 'anvil_mine', ['0x2']);
  const result = await judged;
  expect(grantedOf(result)).toEqual([true]);
  expect(result.blocks['31337']?.number).toBeGreaterThanOrEqual(wanted);
});

test('a minimum block that is not mined fails the check at the deadline, and one far ahead fails it at once', async () => {
  await using chains = connectTestChains([{ urls: [rpcUrl] }], { evaluationMsMax: 1_500 });
  // On a busy machine the first read of a chain may take longer than that.
  await waitUntil('a decision', async () => {
    const { roles } = await chains.judge({ account, rules: [aRule()] });
    return roles.length > 0;
  });
  const near = await waitUntil('a head in time', async () => {
    const result = await chains.judge({
      account,
      rules: [aRule()],
      ...consistency((await headNumber()) + 5),
    });
    return !codesOf(result).includes('deadline-exceeded') && result;
  });
  await using patient = connectTestChains([{ urls: [rpcUrl] }]);
  const far = await patient.judge({ account, rules: [aRule()], ...consistency((await headNumber()) + 11) });
  expect([...codesOf(near), ...codesOf(far)]).toEqual(['min-block-not-reached', 'min-block-not-reached']);
  expect(near.errors[0]?.message).toContain('has reached the minimum block yet');
  expect(far.errors[0]?.message).toContain('was not waited for');
});

test('a node that is behind the minimum block is not used', async () => {
  await callJsonRpc(rpcUrl, 'anvil_mine', ['0x28']);
  const behind = await aProxy('stale-head');
  await using chains = connectTestChains([{ urls: [behind.url, rpcUrl] }]);
  const wanted = await headNumber();
  const result = await chains.judge({ account, rules: [aRule()], ...consistency(wanted) });
  expect(grantedOf(result)).toEqual([true]);
  expect(result.blocks['31337']?.number).toBeGreaterThanOrEqual(wanted);
});

test.each(['safe', 'finalized'] as const)(
  '%s is read at that block and compared with the minimum',
  async (tag) => {
    await callJsonRpc(rpcUrl, 'anvil_mine', ['0x46']);
    await using chains = connectTestChains([{ urls: [rpcUrl] }]);
    const head = await headNumber();
    const result = await chains.judge({ account, rules: [aRule()], ...consistency(0, tag) });
    expect(grantedOf(result)).toEqual([true]);
    expect(result.blocks['31337']?.number).toBeLessThan(head);
    const late = await chains.judge({ account, rules: [aRule()], ...consistency(head, tag) });
    expect(codesOf(late)).toEqual(['min-block-not-reached']);
  },
);

test('a head that is too old is not used', async () => {
  await using chains = connectTestChains([{ urls: [rpcUrl], maxHeadAgeMs: 1 }]);
  const result = await chains.judge({ account, rules: [aRule()] });
  expect({ roles: result.roles, codes: codesOf(result) }).toEqual({ roles: [], codes: ['chain-stale'] });
});

test('a head in the future is not used where the age of heads is checked', async () => {
  const judge = async (maxHeadAgeMs: number | undefined) => {
    const settings = maxHeadAgeMs === undefined ? {} : { maxHeadAgeMs };
    await using chains = connectTestChains([{ urls: [rpcUrl], ...settings }], { redisNowMs: () => 0 });
    return codesOf(await chains.judge({ account, rules: [aRule()] }));
  };
  expect(await judge(60_000)).toEqual(['rpc-unavailable']);
  expect(await judge(undefined)).toEqual([]);
});

test('all rules of a chain are read at the one block that the result names', async () => {
  await using chains = connectTestChains([{ urls: [rpcUrl] }]);
  const { blocks } = await chains.judge({
    account,
    rules: [aRule(), aRule({ type: 'ERC721', minToken: '3', contractAddress: demoTokens.erc721 })],
  });
  const { number, hash, timestamp, proved } = blocks['31337'] ?? { number: 0 };
  const header = (await callJsonRpc(rpcUrl, 'eth_getBlockByNumber', [`0x${number.toString(16)}`, false])) as {
    hash: string;
    timestamp: string;
  };
  expect({ hash, timestamp, proved }).toEqual({
    hash: header.hash,
    timestamp: Number(header.timestamp),
    proved: true,
  });
});
