import type { ContractCondition, Rule } from '#shared/contracts/rules/rule.ts';
import { outputOf, typeOf } from './contract-calls.ts';
import type { Target } from './deploy-tokens.ts';
import type { Wallets } from './judge-by-node.ts';
import type { NodeOracle } from './node-oracle.ts';
import { CHAIN_ID } from './start-clients.ts';

type Call = Pick<ContractCondition, 'function' | 'args' | 'returns'>;

/** Called on every contract, including those without the function or with another return type. */
const CALLS: readonly Call[] = [
  { function: 'function balanceOf(address account) view returns (uint256)', args: ['$account'] },
  { function: 'function balanceOf(address account) view returns (bool)', args: ['$account'] },
  { function: 'function balanceOf(address) view returns (int128, uint256 rest)', args: ['$account'] },
  { function: 'function decimals() external view returns (uint8)' },
  { function: 'function ownerOf(uint256 id) view returns (address owner)', args: ['2'] },
  { function: 'function supportsInterface(bytes4 id) view returns (bool)', args: ['0x80ac58cd'] },
];

/** Called only on the contracts that they fit. */
const SPECIAL_CALLS: readonly (readonly [name: RegExp, call: Call])[] = [
  [/^Safe$/, { function: 'function isOwner(address owner) view returns (bool)', args: ['$account'] }],
  [/^Safe$/, { function: 'function getThreshold() view returns (uint256)' }],
  [
    /4626|Vault/,
    {
      function: 'function convertToAssets(uint256 shares) view returns (uint256 assets)',
      args: ['123456789'],
    },
  ],
  [/4626|Vault/, { function: 'function maxRedeem(address) view returns (uint256)', args: ['$account'] }],
  [/Votes/, { function: 'function getVotes(address account) view returns (uint256)', args: ['$account'] }],
  [
    /MinterPauser|AutoId|^Oz3/,
    {
      function: 'function hasRole(bytes32 role, address account) view returns (bool)',
      args: [`0x${'0'.repeat(64)}`, '$account'],
    },
  ],
  [
    /6909|1155/,
    {
      function: 'function balanceOf(address owner, uint256 id) view returns (uint256)',
      args: ['$account', '1'],
    },
  ],
  [
    /^StakedAave/,
    { function: 'function getTotalRewardsBalance(address) view returns (uint256)', args: ['$account'] },
  ],
  [
    /^StakedAave/,
    {
      function: 'function assets(address) view returns (uint128 emission, uint128 index, uint256 updated)',
      args: ['$account'],
      returns: 'updated',
    },
  ],
  [/Erc20Votes|Uniswap/, { function: 'function DOMAIN_SEPARATOR() view returns (bytes32)' }],
];

/** Rules at the boundary of each function's result for the first wallet of the person. */
export async function contractRules(
  { name, address: contractAddress }: Target,
  { accounts, vaults }: Wallets,
  oracle: NodeOracle,
): Promise<Rule[]> {
  const calls = [...CALLS, ...SPECIAL_CALLS.flatMap(([pattern, call]) => (pattern.test(name) ? [call] : []))];
  const several = accounts.length + vaults.length > 1;
  const rules: Rule[] = [];
  for (const call of calls) {
    const base = { type: 'CONTRACT' as const, chainId: CHAIN_ID, contractAddress, roleId: '', ...call };
    const output = await outputOf(oracle, base, accounts[0] ?? '');
    const compared = comparisons(typeOf(call), typeof output === 'bigint' ? output : undefined);
    for (const comparison of compared) {
      rules.push({ ...base, ...comparison });
      if (several) rules.push({ ...base, ...comparison, wallets: 'all' });
    }
    if (typeof output !== 'bigint') rules.push({ ...base, ...compared[0], onRevert: 'deny' });
  }
  return rules;
}

type Comparison = Pick<ContractCondition, 'operator' | 'value'>;

function comparisons(type: string, output: bigint | undefined): Comparison[] {
  if (type === 'bool') return [{}, { value: 'false' }, { operator: 'ne' }];
  if (type === 'address')
    return [
      { operator: 'eq', value: '$account' },
      { operator: 'ne', value: '$account' },
    ];
  if (type.startsWith('bytes')) {
    const value = `0x${(output ?? 0n)
      .toString(16)
      .padStart(64, '0')
      .slice(0, 2 * Number(type.slice(5)))}`;
    return [
      { operator: 'eq', value },
      { operator: 'ne', value },
    ];
  }
  const value = String(output ?? 0n);
  const operators = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const;
  return operators.map((operator) => ({ operator, value }));
}
