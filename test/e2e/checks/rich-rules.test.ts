/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Composed rules, view functions, several wallets, vaults, snapshots and explanations, in all three
// modes. The answers must be exact, and the same bytes must say them in every mode.
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';

const system = sharedSystem();
let receiver: WebhookReceiver;
beforeAll(async () => {
  receiver = await system.use(receiveWebhooks({ secret: system.ready.app.webhookSecret }));
});

type Json = Readonly<Record<string, unknown>>;
type Case = { readonly check: () => Json; readonly expected: () => Json };

const holder = () => system.chain.holder;
const stranger = () => system.chain.stranger;
/** A rule without its role, as sent inside a composed rule. */
const inner = ({ roleId: _, ...rule }: { readonly roleId: string }): Json => rule;
const call = (changes: Json): Json => ({
  type: 'CONTRACT',
  chainId: system.chain.chainId,
  contractAddress: system.chain.erc721,
  roleId: 'called',
  ...changes,
});
const granted = (...ids: string[]) => ids.map((id) => ({ id, granted: true }));
const denied = (...ids: string[]) => ids.map((id) => ({ id, granted: false }));

const OWNER_OF = 'function ownerOf(uint256 id) view returns (address owner)';
const BALANCE_OF = 'function balanceOf(address who) view returns (uint256 balance)';

const CASES: Readonly<Record<string, Case>> = {
  'composed rules of the holder': {
    check: () => {
      const { erc20, erc721, erc1155, native } = demoRules(system.chain);
      const far = inner(native({ minToken: '10000000' }));
      return {
        account: holder(),
        rules: [
          {
            type: 'ALL',
            roleId: 'all',
            rules: [
              inner(erc20({ minToken: '1500.5' })),
              {
                type: 'AT_LEAST',
                atLeast: 2,
                rules: [inner(erc721()), far, inner(erc1155({ tokenId: '7' }))],
              },
            ],
          },
          { type: 'ANY', roleId: 'any', rules: [far, far] },
          { type: 'NONE', roleId: 'none', rules: [far] },
        ],
      };
    },
    expected: () => ({
      roles: [
        { id: 'all', granted: true },
        { id: 'any', granted: false },
        { id: 'none', granted: true },
      ],
      errors: [],
    }),
  },
  'composed rules with an unreadable rule that matters, and with one without effect': {
    check: () => {
      const { erc20, native } = demoRules(system.chain);
      const unreadable = inner(erc20({ contractAddress: stranger() }));
      return {
        account: holder(),
        rules: [
          { type: 'ALL', roleId: 'open', rules: [inner(native()), unreadable] },
          { type: 'ANY', roleId: 'decided', rules: [unreadable, inner(native())] },
        ],
      };
    },
    expected: () => ({
      roles: granted('decided'),
      errors: [{ ruleIndex: 0, roleId: 'open', code: 'contract-not-found', path: '/rules/0/rules/1' }],
    }),
  },
  'sums of weighted amounts': {
    check: () => {
      const { chainId, erc20 } = system.chain;
      const token = { type: 'ERC20', chainId, contractAddress: erc20 };
      const decimals = { contractAddress: erc20, function: 'function decimals() view returns (uint8)' };
      const sum = (minToken: string, ...rules: Json[]) => ({
        type: 'SUM',
        roleId: minToken,
        minToken,
        rules,
      });
      // 1500.5, and a third of it.
      const terms = [
        { ...token, times: decimals, per: decimals },
        { ...token, times: '2', per: decimals },
      ];
      return {
        account: holder(),
        rules: [
          { ...sum('2000.666666666666666666666666666666666666', ...terms), maxToken: '2000.7' },
          sum('2000.666666666666666666666666666666666667', ...terms),
          sum('1501', token, { ...token, contractAddress: stranger() }),
          sum('1500', token, { ...token, contractAddress: stranger() }),
        ],
      };
    },
    expected: () => ({
      roles: [
        { id: '2000.666666666666666666666666666666666666', granted: true },
        { id: '2000.666666666666666666666666666666666667', granted: false },
        { id: '1500', granted: true },
      ],
      errors: [{ ruleIndex: 2, code: 'contract-not-found', path: '/rules/2/rules/1' }],
    }),
  },
  'outputs of view functions': {
    check: () => ({
      account: holder(),
      rules: [
        call({ roleId: 'owner', function: OWNER_OF, args: ['2'], operator: 'eq', value: '$account' }),
        call({
          roleId: 'exact',
          contractAddress: system.chain.erc20,
          function: BALANCE_OF,
          args: ['$account'],
          returns: 'balance',
          operator: 'eq',
          value: '1500500000',
        }),
        call({
          roleId: 'more',
          contractAddress: system.chain.erc20,
          function: BALANCE_OF,
          args: ['$account'],
          operator: 'gt',
          value: '1500500000',
        }),
        call({
          roleId: 'interface',
          function: 'function supportsInterface(bytes4) view returns (bool)',
          args: ['0x80ac58cd'],
        }),
        call({ roleId: 'reverts', function: OWNER_OF, args: ['999'], operator: 'eq', value: '$account' }),
        call({
          roleId: 'stranger',
          function: OWNER_OF,
          args: ['999'],
          operator: 'eq',
          value: '$account',
          onRevert: 'deny',
        }),
      ],
    }),
    expected: () => ({
      roles: [
        ...granted('owner', 'exact'),
        ...denied('more'),
        ...granted('interface'),
        ...denied('stranger'),
      ],
      errors: [{ ruleIndex: 4, roleId: 'reverts', code: 'call-reverted', retryable: false }],
    }),
  },
  'the sum of several wallets': {
    check: () => {
      const { erc20, erc721 } = demoRules(system.chain);
      const owner = { function: OWNER_OF, args: ['1'], operator: 'eq', value: '$account' };
      return {
        accounts: [stranger(), holder()],
        rules: [
          erc20({ minToken: '1500.5' }),
          erc721({ tokenId: '1-3', minToken: '3' }),
          call({ ...owner, roleId: 'any' }),
          call({ ...owner, roleId: 'all', wallets: 'all' }),
        ],
      };
    },
    expected: () => ({ roles: [...granted('erc20', 'erc721', 'any'), ...denied('all')], errors: [] }),
  },
  'a vault without a delegation': {
    check: () => ({
      account: stranger(),
      vaults: [holder()],
      rules: [demoRules(system.chain).erc20(), demoRules(system.chain).erc721({ tokenId: '1' })],
    }),
    expected: () => ({ roles: denied('erc20', 'erc721'), errors: [] }),
  },
  'a past block and a future block': {
    check: () => ({
      account: holder(),
      consistency: { atBlock: { [system.chain.chainId]: 0 } },
      // At the block before the first transaction there was coin, but no contract.
      rules: [demoRules(system.chain).native({ minToken: '10000' }), demoRules(system.chain).erc20()],
    }),
    expected: () => ({
      roles: granted('native'),
      errors: [{ ruleIndex: 1, code: 'contract-not-found' }],
      blocks: { [system.chain.chainId]: { number: 0 } },
    }),
  },
  'the amounts that were compared': {
    check: () => {
      const { erc20, erc721 } = demoRules(system.chain);
      return {
        account: holder(),
        explain: true,
        rules: [
          erc20({ minToken: '1500' }),
          { type: 'NONE', roleId: 'none', rules: [inner(erc721({ minToken: '4' }))] },
          call({
            contractAddress: system.chain.erc20,
            function: BALANCE_OF,
            args: ['$account'],
            operator: 'gte',
            value: '7',
          }),
        ],
      };
    },
    expected: () => ({
      roles: granted('erc20', 'none', 'called'),
      errors: [],
      details: [
        { ruleIndex: 0, outcome: 'granted', observed: '1500.5', required: { min: '1500' } },
        {
          ruleIndex: 1,
          outcome: 'granted',
          required: {},
          rules: [{ outcome: 'denied', observed: '3', required: { min: '4' } }],
        },
        {
          ruleIndex: 2,
          outcome: 'granted',
          observed: '1500500000',
          required: { operator: 'gte', value: '7' },
        },
      ],
    }),
  },
};

describe.each(Object.entries(CASES))('%s', (_, { check, expected }) => {
  test('are answered exactly and alike in all three modes', async () => {
    const body = check();
    const result = { status: 'completed', ...expected() };

    const sync = await system.client.check(body);
    expect([sync.status, sync.body]).toMatchObject([200, result]);

    const polled = await system.client.checkAndWait(body);
    expect([polled.status, polled.body]).toMatchObject([200, result]);

    const accepted = await system.client.check({ ...body, callbackUrl: receiver.url });
    expect(accepted.status).toBe(202);
    const webhook = await receiver.waitFor(({ requestId }) => requestId === accepted.body.requestId);
    expect(webhook.verified).toBe(true);
    expect(JSON.parse(webhook.body)).toMatchObject(result);
  });
});
