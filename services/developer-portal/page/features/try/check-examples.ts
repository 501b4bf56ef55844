import type { Answer } from '../../lib/api.ts';

/** Checks to begin with, by name. On a system with a demo chain they can be run as they are;
 * elsewhere the wallet and the contracts are left to fill in. */
export function makeExamples(
  demo: Answer<'GET /api/try-options'>['demo'],
  chainId: number | undefined,
): [name: string, check: Record<string, unknown>][] {
  const { holder = '', stranger = '', erc20 = '', erc721 = '', erc1155 = '' } = demo ?? {};
  const on = { chainId: demo?.chainId ?? chainId };
  const token = { type: 'ERC20', ...on, contractAddress: erc20, minToken: '1500.5' };
  const collectible = { type: 'ERC721', ...on, contractAddress: erc721, tokenId: '1-3', minToken: '3' };
  const item = { type: 'ERC1155', ...on, contractAddress: erc1155, tokenId: '7,8', minToken: '15' };
  const coin = { type: 'NATIVE', ...on, minToken: '0.1' };
  const tokens = [
    { ...token, roleId: 'holder' },
    { ...collectible, roleId: 'collector' },
    { ...item, roleId: 'player' },
  ];
  const check = (account, rules, more = {}) => ({ account, explain: true, ...more, rules });
  return [
    ['Three tokens, held', check(holder, tokens)],
    ['Three tokens, not held', check(stranger, tokens)],
    [
      'Rules of rules',
      check(holder, [
        { type: 'AT_LEAST', atLeast: 2, rules: [token, collectible, item], roleId: 'member' },
        {
          type: 'ALL',
          rules: [
            { type: 'ANY', rules: [token, item] },
            { type: 'NONE', rules: [{ ...coin, minToken: '1000000000' }] },
          ],
          roleId: 'vip',
        },
      ]),
    ],
    [
      'A function of a contract',
      check(holder, [
        {
          type: 'CONTRACT',
          ...on,
          contractAddress: erc20,
          function: 'function balanceOf(address account) view returns (uint256)',
          args: ['$account'],
          operator: 'gte',
          value: '1500500000',
          roleId: 'holder',
        },
      ]),
    ],
    [
      'A sum',
      check(holder, [
        {
          type: 'SUM',
          minToken: '3000',
          rules: [
            { type: 'NATIVE', ...on },
            { type: 'ERC20', ...on, contractAddress: erc20, times: '1.5' },
          ],
          roleId: 'whale',
        },
      ]),
    ],
    [
      'Two wallets of one person',
      { accounts: [stranger, holder], explain: true, rules: [{ ...token, roleId: 'holder' }] },
    ],
    [
      'Finalized blocks only',
      check(holder, [{ ...coin, roleId: 'funded' }], { consistency: { blockTag: 'finalized' } }),
    ],
    [
      'A rule that cannot be read',
      check(holder, [
        { ...coin, roleId: 'funded' },
        { ...token, contractAddress: stranger, roleId: 'broken' },
      ]),
    ],
  ];
}
