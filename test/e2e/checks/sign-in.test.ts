/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// A visitor signs a message, and the check has roles only if that proves the wallet: at once, polled
// and by webhook, charged and not charged.
import type { CheckResult } from '#shared/contracts/checks/result.ts';
import { aSignIn, SIGNER } from '../../support/builders/a-sign-in.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';

const system = sharedSystem();
const DOMAIN = 'shop.example:8443';

beforeAll(async () => {
  const { clientId } = system.ready.app;
  const set = await system.admin('app', 'domains', clientId, '--set', `Shop.example,${DOMAIN}`);
  expect(set.value).toEqual({ domains: ['shop.example', DOMAIN] });
});

const post = (path: string, body?: unknown) =>
  system.client.send<never>('POST', `/access-control/${path}`, body);
const nonce = async (): Promise<string> => (await post('nonces')).body['nonce'];
const left = (headers: Headers): number =>
  Number(/"per-month";r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);

/** A check of an account, with a message that the signer's key has signed. */
async function checkOf(account: string, used: string, changes: object = {}) {
  const chainId = system.chain.chainId;
  const { message } = await aSignIn({ nonce: used, domain: DOMAIN, chainId, address: account });
  const signature = await SIGNER.signMessage(message);
  // Everybody holds so much.
  const rule = { ...demoRules(system.chain).native({ minToken: '0' }), maxToken: '1000000' };
  return { account, rules: [rule], signIn: [{ message, signature }], ...changes };
}

test('the key of the account proves it, once for each nonce', async () => {
  const used = await nonce();
  const check = await checkOf(SIGNER.address, used);
  const { status, body } = await post('check-roles', check);
  expect([status, body]).toEqual([
    200,
    expect.objectContaining({
      status: 'completed',
      roles: [expect.objectContaining({ granted: true })],
      errors: [],
      signIn: [{ account: SIGNER.address, outcome: 'proved' }],
    }),
  ]);
  const again = await post('check-roles', check);
  expect([again.status, again.body['code']]).toEqual([403, 'sign-in-refused']);
});

test('a contract that accepts no signature is refused, and the check is charged', async () => {
  // A token's contract: it has no isValidSignature.
  const account = system.chain.erc20;
  const before = left((await post('check-roles', await checkOf(SIGNER.address, await nonce()))).headers);
  const { status, headers, body } = await post('check-roles', await checkOf(account, await nonce()));
  expect(status).toBe(403);
  expect(body).toMatchObject({
    code: 'sign-in-refused',
    requestId: expect.any(String),
    errors: [{ account, code: 'sign-in-refused', retryable: false, chainId: system.chain.chainId }],
  });
  expect(left(headers)).toBe(before - 1);
  const polled = await system.client.poll(body['requestId'], 10);
  expect([polled.status, polled.body]).toEqual([
    200,
    expect.objectContaining({ status: 'failed', roles: [], errors: body['errors'] }),
  ]);
});

test('the webhook and the poll of a refused sign-in have the same bytes, and no role', async () => {
  await using receiver = await receiveWebhooks({ secret: system.ready.app.webhookSecret });
  const changes = { callbackUrl: receiver.url, onUndetermined: 'deny' };
  const accepted = await post('check-roles', await checkOf(system.chain.erc721, await nonce(), changes));
  expect(accepted.status).toBe(202);
  const requestId: string = accepted.body['requestId'];
  const delivered = await receiver.waitFor((webhook) => webhook.requestId === requestId);
  const polled = await system.client.poll(requestId, 10);
  expect(delivered.body).toBe(polled.text);
  const { status, roles, errors } = JSON.parse(polled.text) as CheckResult;
  expect([status, roles, errors.map(({ code }) => code)]).toEqual(['failed', [], ['sign-in-refused']]);
});

test('a check of another domain, or without a nonce of ours, is refused before it is accepted', async () => {
  const check = await checkOf(SIGNER.address, 'a'.repeat(58));
  const { status, body } = await post('check-roles', check);
  expect([status, body['code'], body['requestId']]).toEqual([403, 'sign-in-refused', undefined]);
});
