import type { ReadyLine } from '../../../deploy/local/system/ready-line.ts';

export type DemoChain = NonNullable<ReadyLine['chain']>;
/** A rule as a client sends it. */
export type SentRule = {
  readonly type: string;
  readonly chainId: number;
  readonly roleId: string;
  readonly contractAddress?: string;
  readonly minToken?: string;
  readonly tokenId?: string;
};
type Parts = Partial<Omit<SentRule, 'type'>>;

/**
 * Builders of rules for the demo chain's tokens; the role is named after the token unless it is
 * given.
 *
 * @example
 * const { erc20 } = demoRules(system.chain);
 * erc20({ minToken: '1500.5' });
 */
export function demoRules(chain: DemoChain) {
  const { chainId } = chain;
  const rule =
    (type: string, roleId: string, contractAddress?: string) =>
    (parts: Parts = {}): SentRule => ({
      type,
      chainId,
      roleId,
      ...(contractAddress === undefined ? {} : { contractAddress }),
      ...parts,
    });
  return {
    erc20: rule('ERC20', 'erc20', chain.erc20),
    erc721: rule('ERC721', 'erc721', chain.erc721),
    erc1155: rule('ERC1155', 'erc1155', chain.erc1155),
    native: rule('NATIVE', 'native'),
  };
}
