import { demoRules } from '../support/builders/demo-rules.ts';
import type { TestCheck } from '../support/infrastructure/connect-test-chains.ts';
import type { MinedChain } from './provider/mined-chain.ts';

/** The least amount of the demo's ERC20. */
export const UNIT = '0.000001';
/** How far ahead of the head no chain here comes. */
const FAR_AHEAD = 1_000_000;
/** How far below the head providers have pruned the state. */
const PRUNED_BLOCKS = 250;

/** A check of an ordinary client: at the head, at a block of which it has a receipt, or exactly at
 * the head. */
export function ordinaryCheck(
  chain: MinedChain,
  chainId: number,
  accounts: readonly string[],
  count: number,
): TestCheck {
  const { erc20, erc1155 } = demoRules({ ...chain, chainId });
  const newest = { [chainId]: chain.newest().number };
  const consistency = [{}, { minBlock: newest }, {}, { atBlock: newest }][count % 4];
  return {
    account: accounts[count % accounts.length] ?? '',
    clientId: `app_${count % 2}`,
    lane: count % 2 === 0 ? 'interactive' : 'bulk',
    rules: [
      erc20({ roleId: 'erc20', minToken: UNIT }),
      erc1155({ roleId: 'erc1155', tokenId: '7', minToken: '1' }),
    ] as TestCheck['rules'],
    consistency: { blockTag: 'latest', minBlock: {}, ...consistency },
  };
}

/** What the hostile client asks, in turn: blocks, tags, contracts and calldata that make an
 * endpoint fail the call. */
export function hostileCheck(chain: MinedChain, chainId: number, count: number): TestCheck {
  const rules = demoRules({ ...chain, chainId });
  const native = () => rules.native({ minToken: '1' });
  const erc20 = (contractAddress: string) => rules.erc20({ minToken: '1', contractAddress });
  const at = (number: number) => ({ atBlock: { [chainId]: number } });
  const calling = (contractAddress: string, data: string) => ({
    ...{ type: 'CONTRACT', chainId, contractAddress, roleId: 'contract', operator: 'eq', value: '1' },
    ...{ function: 'function f(bytes data) view returns (uint256)', args: [data] },
  });
  const { hostile } = chain;
  const asks: readonly { rule: unknown; consistency?: object }[] = [
    { rule: native(), consistency: at(chain.newest().number + FAR_AHEAD + count) },
    { rule: native(), consistency: at(chain.newest().number - PRUNED_BLOCKS) },
    { rule: native(), consistency: { blockTag: 'safe' } },
    { rule: native(), consistency: { blockTag: 'finalized' } },
    { rule: erc20(hostile.infiniteLoop) },
    { rule: erc20(hostile.revertBomb) },
    { rule: erc20(`0x${(0xdead_0000 + count).toString(16).padStart(40, '9')}`) },
    {
      rule: rules.erc721({
        minToken: '1',
        contractAddress: hostile.invalidOpcode,
        tokenId: String(count + 1),
      }),
    },
    { rule: calling(chain.erc20, `0x${'ff'.repeat(200)}`) },
    { rule: calling(hostile.returnBomb, '0x') },
    { rule: native(), consistency: { minBlock: { [chainId]: chain.newest().number + 3 } } },
  ];
  const { rule, consistency } = asks[count % asks.length] ?? { rule: native() };
  return {
    account: `0x${(0xbad_0000 + count).toString(16).padStart(40, '7')}`,
    clientId: 'app_hostile',
    rules: [rule] as TestCheck['rules'],
    consistency: { blockTag: 'latest', minBlock: {}, ...consistency },
  };
}
