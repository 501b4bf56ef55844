import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { type DemoChain, demoRules, type SentRule } from '../../support/builders/demo-rules.ts';

/** One check in this many is of the account with tokens, so that a server which only denies is
 * detected. */
const HOLDER_EVERY = 10;
const COPIES_FROM = 2n ** 100n;

/** Checks to send, with known results. */
export type SentWorkload = {
  readonly checkAt: (index: number) => object;
  /** @throws Error unless this is the complete and correct result of the check at that position */
  readonly verify: (index: number, result: string) => void;
};

/** Checks that carry their rules. */
export type Workload = Pick<SentWorkload, 'verify'> & {
  readonly ruleCount: number;
  /** The check at a position, without its mode. Each position has a new account, so that no cache
   * answers. */
  readonly checkAt: (index: number) => { readonly account: string; readonly rules: readonly SentRule[] };
};

let lastAccount = 2n ** 152n;

/**
 * Makes checks of `ruleCount` rules: the demo chain's ERC20, ERC721 and ERC1155, then copies of the
 * ERC20 at other addresses, of which no account holds any.
 */
export async function makeWorkload(chain: DemoChain, ruleCount: number): Promise<Workload> {
  const { erc20, erc721, erc1155 } = demoRules(chain);
  const held = [
    erc20({ roleId: 'role-0', minToken: '1500.5' }),
    erc721({ roleId: 'role-1' }),
    erc1155({ roleId: 'role-2', tokenId: '7', minToken: '10' }),
  ];
  const code = await callJsonRpc(chain.rpc, 'eth_getCode', [chain.erc20, 'latest']);
  const copies: SentRule[] = [];
  for (let i = held.length; i < ruleCount; i++) {
    const contractAddress = `0x${(COPIES_FROM + BigInt(i)).toString(16).padStart(40, '0')}`;
    await callJsonRpc(chain.rpc, 'anvil_setCode', [contractAddress, code]);
    copies.push(erc20({ roleId: `role-${i}`, contractAddress, minToken: '10.5' }));
  }
  // Contract code that was set without a transaction belongs to the next block.
  await callJsonRpc(chain.rpc, 'anvil_mine', ['0x1']);
  const rules = [...held, ...copies].slice(0, ruleCount);
  const first = lastAccount;
  lastAccount += 2n ** 40n;
  const isHolder = (index: number): boolean => index % HOLDER_EVERY === 0;
  return {
    ruleCount,
    checkAt: (index) => ({
      account: isHolder(index) ? chain.holder : `0x${(first + BigInt(index)).toString(16).padStart(40, '0')}`,
      rules,
    }),
    verify(index, result) {
      const { status, roles, errors } = JSON.parse(result) as {
        readonly status: string;
        readonly roles: readonly { readonly id: string; readonly granted: boolean }[];
        readonly errors: readonly unknown[];
      };
      const isRight =
        status === 'completed' &&
        errors.length === 0 &&
        roles.length === ruleCount &&
        roles.every(
          ({ id, granted }, place) =>
            id === rules[place]?.roleId && granted === (isHolder(index) && place < held.length),
        );
      if (!isRight) throw new Error(`a check has a wrong result: ${result.slice(0, 500)}`);
    },
  };
}

/** Positions that no other measurement of this process uses. */
let lastPlace = 1e7;
export const newPlaces = (count: number): number => {
  lastPlace += count;
  return lastPlace - count;
};
