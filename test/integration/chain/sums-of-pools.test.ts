import type { Rule, SumTerm } from '#shared/contracts/rules/rule.ts';
import { avalanchePool, nitroPool } from '../../providers/all-profiles.ts';
import { type MinedChain, startMinedChain } from '../../providers/provider/mined-chain.ts';
import { startProvider } from '../../providers/provider/start-provider.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';

// Scenario: sums over a chain of four blocks a second and one of a block every two seconds, behind
// pools of nodes of which some are late. Each sum is decided, at one instant.

const [SLOW, FAST] = [43_114, 42_161];
/** Blocks of the slow chain that the checks go through. */
const BLOCKS = 5;

test('each sum over the chains of lagging nodes is decided, at one instant and with few calls', async () => {
  await using slow = await startMinedChain(avalanchePool.blockTimeMs);
  await using fast = await startMinedChain(nitroPool.blockTimeMs);
  await using ofSlow = await startProvider(avalanchePool, slow, SLOW);
  await using ofFast = await startProvider(nitroPool, fast, FAST);
  await using chains = connectTestChains([
    { chainId: SLOW, urls: [ofSlow.url], blockTimeMs: slow.blockTimeMs },
    { chainId: FAST, urls: [ofFast.url], blockTimeMs: fast.blockTimeMs },
  ]);
  const term = (chainId: number): SumTerm => ({ type: 'ERC20', chainId, contractAddress: slow.erc20 });
  const sum = (minToken: string): Rule => ({
    ...{ type: 'SUM', roleId: minToken, minToken },
    rules: [term(SLOW), term(FAST)],
  });
  const until = slow.newest().number + BLOCKS;
  let checkCount = 0;
  while (slow.newest().number < until) {
    const { roles, errors, blocks } = await chains.judge({
      account: slow.holder,
      rules: [sum('3001'), sum('3001.000001')],
    });
    checkCount += 1;
    expect({ errors, granted: roles.map(({ granted }) => granted) }).toEqual({
      errors: [],
      granted: [true, false],
    });
    const read = (chainId: number, chain: MinedChain) => {
      const { number = 0, timestamp = 0 } = blocks[chainId] ?? {};
      return { timestamp, next: chain.byNumber(number + 1)?.timestamp ?? Number.POSITIVE_INFINITY };
    };
    const both = [read(SLOW, slow), read(FAST, fast)];
    const latest = Math.max(...both.map(({ timestamp }) => timestamp));
    for (const { next } of both) expect(next).toBeGreaterThanOrEqual(latest);
  }
  expect(checkCount).toBeGreaterThan(BLOCKS);
  const calls = ofSlow.callCount() + ofFast.callCount();
  process.stdout.write(`${checkCount} checks, ${calls} calls, ${(calls / checkCount).toFixed(1)} a check\n`);
});
