/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// A holder and a stranger check every token standard in all three modes.
// The answers must be exact to the smallest unit, and the same in every mode.
import { demoRules, type SentRule } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';

const system = sharedSystem();
let receiver: WebhookReceiver;
beforeAll(async () => {
  receiver = await system.use(receiveWebhooks({ secret: system.ready.app.webhookSecret }));
});

/** Each rule with its outcome for the holder and for the stranger. */
function casesOf(): Record<string, { rule: SentRule; holder: boolean; stranger: boolean }[]> {
  const { erc20, erc721, erc1155, native } = demoRules(system.chain);
  const held = (rule: SentRule) => ({ rule, holder: true, stranger: false });
  const unheld = (rule: SentRule) => ({ rule, holder: false, stranger: false });
  return {
    ERC20: [
      held(erc20({ roleId: 'exact', minToken: '1500.5' })),
      unheld(erc20({ roleId: 'a unit more', minToken: '1500.500001' })),
      held(erc20({ roleId: 'default' })),
    ],
    ERC721: [
      held(erc721({ roleId: 'owned id', tokenId: '2' })),
      unheld(erc721({ roleId: 'id without an owner', tokenId: '9' })),
      held(erc721({ roleId: 'balance', minToken: '3' })),
      unheld(erc721({ roleId: 'balance of four', minToken: '4' })),
      held(erc721({ roleId: 'three of a range', tokenId: '1-9', minToken: '3' })),
    ],
    ERC1155: [
      held(erc1155({ roleId: 'sum', tokenId: '7-8', minToken: '15' })),
      unheld(erc1155({ roleId: 'sum and one', tokenId: '7-8', minToken: '16' })),
      unheld(erc1155({ roleId: 'one id counts once', tokenId: '8,8,8', minToken: '6' })),
    ],
    NATIVE: [
      {
        rule: native({ roleId: 'has coin', minToken: '0.000000000000000001' }),
        holder: true,
        stranger: true,
      },
      unheld(native({ roleId: 'more than the balance', minToken: '10000000' })),
    ],
  };
}

const rolesOf = (cases: ReturnType<typeof casesOf>[string], who: 'holder' | 'stranger') =>
  cases.map((each) => ({ id: each.rule.roleId, granted: each[who] }));

describe.each(['ERC20', 'ERC721', 'ERC1155', 'NATIVE'])('%s', (type) => {
  test.each(['holder', 'stranger'] as const)(
    'the %s gets the exact answer in all three modes',
    async (who) => {
      const cases = casesOf()[type] ?? [];
      const check = { account: system.chain[who], rules: cases.map(({ rule }) => rule) };
      const expected = { status: 'completed', roles: rolesOf(cases, who), errors: [] };

      const sync = await system.client.check(check);
      expect(sync.status).toBe(200);
      expect(sync.body).toMatchObject(expected);
      expect(sync.body.blocks).toMatchObject({ [system.chain.chainId]: { proved: true } });

      const polled = await system.client.checkAndWait(check);
      expect(polled.status).toBe(200);
      expect(polled.body).toMatchObject(expected);

      const accepted = await system.client.check({ ...check, callbackUrl: receiver.url });
      expect(accepted.status).toBe(202);
      const webhook = await receiver.waitFor(({ requestId }) => requestId === accepted.body.requestId);
      expect(webhook.verified).toBe(true);
      expect(JSON.parse(webhook.body)).toMatchObject({ requestId: accepted.body.requestId, ...expected });
    },
  );
});

test('a sync result can be polled afterwards, byte for byte', async () => {
  const { erc20 } = demoRules(system.chain);
  const sync = await system.client.check({ account: system.chain.holder, rules: [erc20()] });
  const polled = await system.client.poll(sync.body.requestId ?? '');
  expect(polled.text).toBe(sync.text);
});

test('the result of a webhook can be polled, byte for byte, by the time the webhook arrives', async () => {
  const { erc20 } = demoRules(system.chain);
  const check = { account: system.chain.holder, rules: [erc20()], callbackUrl: receiver.url };
  const { body } = await system.client.check(check);
  const webhook = await receiver.waitFor(({ requestId }) => requestId === body.requestId);
  const polled = await system.client.poll(webhook.requestId);
  expect(polled.text).toBe(webhook.body);
  expect(webhook.id).toBe(`msg_${body.requestId}`);
});

test('an acknowledgement says where and when to poll', async () => {
  const { erc20 } = demoRules(system.chain);
  const accepted = await system.client.check({ account: system.chain.holder, rules: [erc20()], async: true });
  expect(accepted.headers.get('location')).toBe(
    `/access-control/check-roles/responses/${accepted.body.requestId}`,
  );
  expect(accepted.headers.get('retry-after')).toBe('1');
  expect(accepted.body).toEqual({ requestId: accepted.body.requestId });
});

test('roles keep the order of the rules, and two rules may name the same role', async () => {
  const { erc20, erc721 } = demoRules(system.chain);
  const rules = [
    erc721({ roleId: 'x', tokenId: '9' }),
    erc20({ roleId: 'ü \u{1F984}' }),
    erc20({ roleId: 'x' }),
  ];
  const { body } = await system.client.check({ account: system.chain.holder, rules });
  expect(body.roles).toEqual([
    { id: 'x', granted: false },
    { id: 'ü \u{1F984}', granted: true },
    { id: 'x', granted: true },
  ]);
});
