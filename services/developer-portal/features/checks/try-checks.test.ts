import { hashApiKey } from '#shared/contracts/apps/api-key.ts';
import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { aChain } from '../../../../test/support/builders/a-chain.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Call } from '../../http/operations.ts';
import { makeCheckHandlers } from './handle-checks.ts';

const KEY = 'rck_live_x';
const app = { keys: [{ hash: hashApiKey(KEY) }] } as unknown as ClientApp;
const call = (over: Partial<Call<'tryCheck'>> = {}) =>
  ({
    app,
    param: () => 'app_1',
    idempotencyKey: 'once',
    body: { apiKey: KEY, check: { rules: [] }, isBatch: false },
    ...over,
  }) as Call<'tryCheck'>;

function makeTry(answer: () => Promise<Response>) {
  const sent: { url: string; init: RequestInit }[] = [];
  const handlers = makeCheckHandlers(
    partially<Dependencies>({
      config: { gateway: { url: 'http://gateway', publicUrl: 'https://api.example.com' } },
      fetch: async (url, init = {}) => {
        sent.push({ url: String(url), init });
        return answer();
      },
      chains: [],
    }),
  );
  return { ...handlers, sent };
}

test('the gateway receives the check, the key and the idempotency key, and nothing else of the request', async () => {
  const { tryCheck, sent } = makeTry(async () => Response.json({ roles: [] }));
  await tryCheck(call());
  expect(sent[0]?.url).toBe('http://gateway/access-control/check-roles');
  expect(sent[0]?.init).toMatchObject({
    method: 'POST',
    body: '{"rules":[]}',
    headers: { 'content-type': 'application/json', 'x-api-key': KEY, 'idempotency-key': 'once' },
    redirect: 'error',
  });
});

test('the preview of a watch is sent as a batch', async () => {
  const { tryCheck, sent } = makeTry(async () => Response.json({ requestId: 'r_1' }, { status: 202 }));
  const check = { watch: 'members', rules: [], explain: true };
  const answer = await tryCheck(call({ body: { apiKey: KEY, check, isBatch: true } }));
  expect(answer).toMatchObject({ status: 202, body: { requestId: 'r_1' } });
  expect(sent[0]?.url).toBe('http://gateway/access-control/check-roles/batch');
  expect(JSON.parse(String(sent[0]?.init.body))).toEqual(check);
});

test('the answer has only documented headers, and a body that is not JSON as text', async () => {
  const headers = { 'content-type': 'text/plain', 'set-cookie': 'a=b', server: 'x', 'retry-after': '1' };
  const { tryCheck } = makeTry(async () => new Response('oops', { status: 500, headers }));
  expect(await tryCheck(call())).toMatchObject({
    status: 500,
    body: 'oops',
    headers: { 'content-type': 'text/plain', 'retry-after': '1' },
  });
  const shown = (await tryCheck(call())).headers;
  expect(Object.keys(shown).sort()).toEqual(['content-type', 'retry-after']);
});

test('a poll goes to the result of the check with the key, waits a little, and shows its command without the key', async () => {
  const { pollTried, sent } = makeTry(async () => Response.json({ status: 'pending' }, { status: 202 }));
  const poll = (requestId: string) =>
    pollTried({
      app,
      param: () => requestId,
      body: { apiKey: KEY },
    } as unknown as Call<'pollTried'>);
  expect(await poll('r_1')).toMatchObject({
    status: 202,
    curl: expect.stringContaining('https://api.example.com/access-control/check-roles/responses/r_1'),
  });
  expect(sent[0]?.url).toBe('http://gateway/access-control/check-roles/responses/r_1');
  expect(sent[0]?.init).toMatchObject({ method: 'GET', headers: { 'x-api-key': KEY, prefer: 'wait=5' } });
  await expect(poll('..')).rejects.toMatchObject({ code: 'not-found' });
  expect(sent).toHaveLength(1);
});

test('a missing or too long answer is a problem that names no address', async () => {
  const tooLong = makeTry(async () => new Response('x'.repeat(1024 * 1024 + 1)));
  await expect(tooLong.tryCheck(call())).rejects.toMatchObject({ code: 'gateway-unavailable' });
  const away = makeTry(() => Promise.reject(new TypeError('fetch failed: http://gateway:8080')));
  await expect(away.tryCheck(call())).rejects.toMatchObject({
    code: 'gateway-unavailable',
    message: expect.not.stringContaining('gateway:8080'),
  });
});

test('the try options list chains by id, name, symbol and state, without their endpoints', async () => {
  const chain = aChain({ chainId: 31_337, name: 'Demo chain' });
  const { readTryOptions } = makeCheckHandlers(
    partially<Dependencies>({
      config: { gateway: { publicUrl: 'https://api.example.com' } },
      chains: [chain, aChain({ chainId: 5, name: 'Away' })],
      chainStates: { read: async () => new Map([[5, { state: 'down', since: '2026-11-21T10:00:00.000Z' }]]) },
    }),
  );
  expect(await readTryOptions({} as Call<'readTryOptions'>)).toEqual({
    gatewayUrl: 'https://api.example.com',
    chains: [
      { chainId: 31_337, name: 'Demo chain', nativeSymbol: 'ETH', state: 'unknown' },
      { chainId: 5, name: 'Away', nativeSymbol: 'ETH', state: 'down', since: '2026-11-21T10:00:00.000Z' },
    ],
  });
});

test('a sign-in message has a nonce of the gateway, and fields that no message can have cost none', async () => {
  const nonce = { nonce: 'a1b2c3d4e5f6a7b8', expiresAt: '2026-11-21T10:10:00.000Z' };
  const { composeSignIn, sent } = makeTry(async () => Response.json(nonce, { status: 201 }));
  const compose = (over: object) =>
    composeSignIn({
      app,
      body: { apiKey: KEY, account: `0x${'ab'.repeat(20)}`, domain: 'shop.example', chainId: 1, ...over },
    } as unknown as Call<'composeSignIn'>);
  const { message, expiresAt } = await compose({});
  expect(expiresAt).toBe(nonce.expiresAt);
  expect(message).toMatch(
    /^shop\.example wants you to sign in .*\n0x[abAB]{40}\n\n\nURI: https:\/\/shop\.example\n/,
  );
  expect(message).toContain('Nonce: a1b2c3d4e5f6a7b8');
  expect(sent.map(({ url }) => url)).toEqual(['http://gateway/access-control/nonces']);
  for (const wrong of [{ account: 'vitalik.eth' }, { domain: 'two words' }])
    await expect(compose(wrong)).rejects.toMatchObject({ code: 'validation-failed' });
  expect(sent).toHaveLength(1);
});

test('a nonce that the gateway refuses is a conflict with its reason', async () => {
  const problem = { code: 'scope-not-approved', detail: 'The scope is not approved.' };
  const { composeSignIn } = makeTry(async () => Response.json(problem, { status: 403 }));
  const body = { apiKey: KEY, account: `0x${'1'.repeat(40)}`, domain: 'shop.example', chainId: 1 };
  await expect(composeSignIn({ app, body } as unknown as Call<'composeSignIn'>)).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('The scope is not approved.'),
  });
});

test('a key of another app is not sent anywhere', async () => {
  const { tryCheck, sent } = makeTry(async () => Response.json({}));
  const body = { apiKey: 'rck_live_another', check: {}, isBatch: false };
  await expect(tryCheck(call({ body }))).rejects.toMatchObject({
    members: { errors: [{ pointer: '/apiKey' }] },
  });
  expect(sent).toEqual([]);
});
