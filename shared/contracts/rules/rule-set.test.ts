import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { contractsOf, rulesOf } from './rule-set.ts';

const contract = (digit: string) => `0x${digit.repeat(40)}`;
const call = { contractAddress: contract('c'), function: 'function rate() view returns (uint256)' };
const SUM = {
  ...{ type: 'SUM', roleId: 'whale' },
  rules: [
    { type: 'ERC20', chainId: 1, contractAddress: contract('A'), times: call, name: 'on mainnet' },
    { type: 'ERC721', chainId: 10, contractAddress: contract('b') },
    { type: 'NATIVE', chainId: 1 },
    { type: 'CONTRACT', chainId: 1, ...call, decimals: 18 },
  ],
};

describe('a rule set with a sum', () => {
  it('follows the transfers of the tokens that its terms name, and of no weight or output', () =>
    expect(
      contractsOf(aRuleSet('app_1', 'vip', { rules: [{ type: 'ANY', roleId: 'r', rules: [SUM] }, SUM] })),
    ).toEqual([
      { chainId: 1, contractAddress: contract('a') },
      { chainId: 10, contractAddress: contract('b') },
    ]));

  it('travels with the default minimum of the sum, and none of its terms', () => {
    const { name: _, ...term } = SUM.rules[0] ?? {};
    expect(rulesOf(aRuleSet('app_1', 'vip', { rules: [SUM] }))).toEqual([
      { ...SUM, minToken: '1', rules: [term, ...SUM.rules.slice(1)] },
    ]);
  });
});
