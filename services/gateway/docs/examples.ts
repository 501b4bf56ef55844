import type { DemoChain } from '#shared/contracts/demo-chain.ts';
import type { CheckBody } from '../checks/check-body.ts';

/** As a constant: its lists cannot be written to. */
type Example = Fixed<CheckBody>;
type Fixed<Value> = Value extends object ? { readonly [Name in keyof Value]: Fixed<Value[Name]> } : Value;

/** The chain, wallets, tokens and block of all examples; `onChain` replaces them by those of the
 * server. */
export const EXAMPLE_CHAIN = {
  chainId: 1,
  holder: '0x52908400098527886E0F7030069857D2E4169EE7',
  stranger: '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  erc20: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  erc721: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  erc1155: '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  block: 21_000_000,
} as const satisfies ExampleChain;
export type ExampleChain = DemoChain & { readonly block: number };

type Configured = {
  readonly chains: readonly { readonly chainId: number }[];
  readonly demo: DemoChain | undefined;
};

/** The demo chain where it is configured: its examples can be sent as they are. Elsewhere the first
 * chain, and addresses that stand for others. */
export function exampleOf({ chains, demo }: Configured): ExampleChain {
  if (demo && chains.some(({ chainId }) => chainId === demo.chainId)) return { ...demo, block: 1 };
  return { ...EXAMPLE_CHAIN, chainId: chains[0]?.chainId ?? EXAMPLE_CHAIN.chainId };
}

const { holder: ACCOUNT, stranger: OTHER, erc20: ERC20, erc721: ERC721, erc1155: ERC1155 } = EXAMPLE_CHAIN;
const VAULT = '0xde709f2102306220921060314715629080e2fb77';

/** Bodies that the OpenAPI document shows; the tests send every one of them. */
export const CHECK_EXAMPLES = {
  sync: {
    summary: 'Wait for the result',
    value: {
      account: ACCOUNT,
      rules: [{ type: 'ERC20', chainId: 1, contractAddress: ERC20, roleId: 'whale', minToken: '1500.5' }],
    },
  },
  poll: {
    summary: 'Accept now, poll later',
    value: {
      account: ACCOUNT,
      rules: [
        { type: 'ERC721', chainId: 1, contractAddress: ERC721, roleId: 'founder', tokenId: '1,2,42-69' },
        {
          type: 'ERC1155',
          chainId: 1,
          contractAddress: ERC1155,
          roleId: 'player',
          tokenId: '7-8',
          minToken: '15',
        },
      ],
      async: true,
      onUndetermined: 'deny',
    },
  },
  webhook: {
    summary: 'Send the result to your URL, read at a given block or later',
    value: {
      account: ACCOUNT,
      rules: [{ type: 'NATIVE', chainId: 1, roleId: 'paying', minToken: '0', maxToken: '0.5' }],
      callbackUrl: 'https://hooks.example.com/rolecall',
      consistency: { blockTag: 'latest', minBlock: { '1': EXAMPLE_CHAIN.block } },
    },
  },
  contract: {
    summary: 'Compare an output of any view function',
    value: {
      account: ACCOUNT,
      rules: [
        {
          type: 'CONTRACT',
          chainId: 1,
          contractAddress: ERC1155,
          roleId: 'gold',
          function: 'function balanceOf(address account, uint256 id) view returns (uint256 amount)',
          args: ['$account', '7'],
          returns: 'amount',
          operator: 'gte',
          value: '2',
        },
      ],
    },
  },
  sum: {
    summary: 'Add amounts of several tokens: 250 for a collectible, and the percentage of a supply',
    value: {
      account: ACCOUNT,
      explain: true,
      rules: [
        {
          type: 'SUM',
          roleId: 'whale',
          minToken: '1000',
          rules: [
            { type: 'ERC20', chainId: 1, contractAddress: ERC20 },
            { type: 'ERC721', chainId: 1, contractAddress: ERC721, times: '250' },
            {
              type: 'ERC20',
              chainId: 1,
              contractAddress: ERC20,
              times: '100',
              per: {
                contractAddress: ERC20,
                function: 'function totalSupply() view returns (uint256)',
                decimals: 6,
              },
            },
          ],
        },
      ],
    },
  },
  composed: {
    summary: 'One role for a combination of rules, over several wallets and their delegated vaults',
    value: {
      accounts: [ACCOUNT, OTHER],
      vaults: [VAULT],
      rules: [
        {
          type: 'ALL',
          roleId: 'vip',
          rules: [
            { type: 'ERC20', chainId: 1, contractAddress: ERC20, minToken: '100' },
            {
              type: 'AT_LEAST',
              atLeast: 1,
              rules: [
                { type: 'ERC721', chainId: 1, contractAddress: ERC721 },
                { type: 'NATIVE', chainId: 1, minToken: '32' },
              ],
            },
          ],
        },
      ],
      explain: true,
    },
  },
  snapshot: {
    summary: 'Read at a block in the past',
    value: {
      account: ACCOUNT,
      rules: [{ type: 'NATIVE', chainId: 1, roleId: 'early' }],
      consistency: { atBlock: { '1': EXAMPLE_CHAIN.block } },
    },
  },
} as const satisfies Record<string, { summary: string; value: Example }>;

export const RESULT_EXAMPLE = {
  requestId: 'AQIBofwEwmibyuoaXYj9AIDX34EW0VVy3Lod1f4H',
  status: 'completed',
  roles: [{ id: 'whale', granted: true }],
  errors: [],
  evaluatedAt: '2026-11-21T10:00:00.000Z',
  blocks: {
    '1': {
      number: 21_000_000,
      hash: '0x88e96d4537bea4d9c05d12549907b32561d3bf31f45aae734cdc119f13406cb6',
      timestamp: 1_700_000_000,
      proved: true,
      state: true,
    },
  },
} as const;

/** Bodies of rule sets that the OpenAPI document shows; the tests send every one of them. */
export const RULE_SET_EXAMPLES = {
  holders: {
    summary: 'Two roles of a community',
    value: {
      name: 'Holders',
      rules: [
        { type: 'ERC20', chainId: 1, contractAddress: ERC20, roleId: 'whale', minToken: '1500.5' },
        { type: 'ERC721', chainId: 1, contractAddress: ERC721, roleId: 'founder', tokenId: '1,2,42-69' },
      ],
      onUndetermined: 'omit',
    },
  },
} as const;

export const RULE_SET_EXAMPLE = {
  ruleSetId: 'holders',
  version: 3,
  digest: 'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:',
  ...RULE_SET_EXAMPLES.holders.value,
  updatedAt: '2026-11-21T10:00:00.000Z',
} as const;

export const BATCH_EXAMPLES = {
  members: {
    summary: 'Three members of a community',
    value: {
      entries: [
        ACCOUNT,
        { account: OTHER, ref: 'discord:42' },
        { accounts: [ACCOUNT, VAULT], ref: 'discord:43' },
      ],
      rules: [{ type: 'ERC20', chainId: 1, contractAddress: ERC20, roleId: 'whale', minToken: '1500.5' }],
      callbackUrl: 'https://hooks.example.com/rolecall',
    },
  },
  preview: {
    summary: 'Who of a watch would gain or lose a role by other rules',
    value: {
      watch: 'members',
      rules: [{ type: 'ERC20', chainId: 1, contractAddress: ERC20, roleId: 'whale', minToken: '2000' }],
      explain: true,
    },
  },
} as const;

export const BATCH_STATUS_EXAMPLE = {
  requestId: 'AQMBofwEwmibyuoaXYj9AIDX34EW0VVy3Lod1f4H',
  status: 'completed',
  entries: 3,
  done: 3,
  roles: [{ id: 'whale', granted: 1, denied: 2, undetermined: 0 }],
  acceptedAt: '2026-11-21T10:00:00.000Z',
  completedAt: '2026-11-21T10:00:01.000Z',
} as const;

export const BATCH_LINES_EXAMPLE = `${JSON.stringify({
  index: 1,
  account: OTHER,
  ref: 'discord:42',
  status: 'completed',
  roles: [{ id: 'whale', granted: true }],
  errors: [],
  blockNumbers: { '1': 21_000_000 },
})}\n`;

const WATCH_SETTINGS = { ruleSet: 'holders', callbackUrl: 'https://hooks.example.com/rolecall' } as const;

export const WATCH_EXAMPLES = {
  daily: { summary: 'Sweep once a day, follow transfers', value: WATCH_SETTINGS },
  hourly: {
    summary: 'Sweep every hour, hold revocations of more than a tenth',
    value: { ...WATCH_SETTINGS, everySeconds: 3_600, massRevocation: { share: 0.1, atLeast: 10 } },
  },
  graced: {
    summary: 'Send a revocation only after a second check, ten minutes later',
    value: { ...WATCH_SETTINGS, graceSeconds: 600, explain: true, stalledAfterSeconds: 300 },
  },
} as const;

export const WATCH_EXAMPLE = {
  watchId: 'members',
  version: 1,
  state: 'active',
  held: [],
  members: 1_200,
  following: [{ chainId: 1, contractAddress: ERC20, state: 'live' }],
  ...WATCH_SETTINGS,
  everySeconds: 86_400,
  follow: true,
  blockTag: 'latest',
  explain: false,
  graceSeconds: 0,
  stalledAfterSeconds: 900,
  quotaShare: 0.5,
  massRevocation: { share: 0.2, atLeast: 20 },
  createdAt: '2026-11-21T10:00:00.000Z',
  updatedAt: '2026-11-21T10:00:00.000Z',
} as const;

export const MEMBER_CHANGES_EXAMPLE = {
  both: {
    summary: 'Add one member, remove another',
    value: { add: [{ account: ACCOUNT, ref: 'discord:42' }], remove: ['discord:7'] },
  },
} as const;

export const QUOTA_ALERT_EXAMPLE = {
  type: 'quota.threshold',
  clientId: 'app_5f0c1d2e3b4a5968778695a4b3c2d1e0',
  month: '2026-11',
  threshold: 80,
  used: 8004,
  quota: 10000,
  at: '2026-11-21T10:00:00.000Z',
} as const;

export const TEST_EVENT_EXAMPLE = {
  type: 'test',
  requestId: 'test_5f0c1d2e3b4a5968778695a4b3c2d1e0',
  status: 'completed',
  roles: [],
  errors: [],
  evaluatedAt: '2026-11-21T10:00:00.000Z',
  blocks: {},
};

export const EVALUATION_EXAMPLE = {
  subject: { type: 'wallet', id: ACCOUNT },
  action: { name: 'enter' },
  resource: { type: 'role', id: 'holders/whale' },
} as const;

export const EVALUATIONS_EXAMPLE = {
  subject: EVALUATION_EXAMPLE.subject,
  action: EVALUATION_EXAMPLE.action,
  evaluations: [
    { resource: { type: 'role', id: 'holders/whale' } },
    { resource: { type: 'role', id: 'holders/founder' } },
  ],
  options: { evaluations_semantic: 'execute_all' },
} as const;
