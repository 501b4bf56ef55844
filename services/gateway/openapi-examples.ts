import type { CheckBody } from './api.ts';

const ACCOUNT = '0x52908400098527886E0F7030069857D2E4169EE7';
const TOKEN = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359';

/** Bodies that the OpenAPI document shows; the tests send every one of them. The chain is filled in by its id. */
export const CHECK_EXAMPLES = {
  sync: {
    summary: 'Wait for the result',
    value: {
      account: ACCOUNT,
      rules: [{ type: 'ERC20', chainId: 1, contractAddress: TOKEN, roleId: 'whale', minToken: '1500.5' }],
    },
  },
  poll: {
    summary: 'Accept now, poll later',
    value: {
      account: ACCOUNT,
      rules: [
        { type: 'ERC721', chainId: 1, contractAddress: TOKEN, roleId: 'founder', tokenId: '1,2,42-69' },
        {
          type: 'ERC1155',
          chainId: 1,
          contractAddress: TOKEN,
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
    summary: 'Send the result to an address of yours, no older than a block',
    value: {
      account: ACCOUNT,
      rules: [{ type: 'NATIVE', chainId: 1, roleId: 'paying', minToken: '0', maxToken: '0.5' }],
      callbackUrl: 'https://hooks.example.com/rolecall',
      consistency: { blockTag: 'latest', minBlock: { '1': 21_000_000 } },
    },
  },
} as const satisfies Record<string, { summary: string; value: CheckBody }>;

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
    },
  },
} as const;
