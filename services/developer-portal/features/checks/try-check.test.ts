import { hashApiKey } from '#shared/contracts/apps/api-key.ts';
import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { aChain } from '../../../../test/support/builders/a-chain.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Call } from '../../http/call.ts';
import { makeTryHandlers } from './try-check.ts';

const KEY = 'rck_live_x';
const app = { keys: [{ hash: hashApiKey(KEY) }] } as unknown as ClientApp;
const call = (over: Partial<Call<'tryCheck'>> = {}) =>
  ({
    app,
    param: () => 'app_1',
    idempotencyKey: 'once',
    body: { apiKey: KEY, check: { rules: [] } },
    ...over,
  }) as Call<'tryCheck'>;

function makeTry(answer: () => Promise<Response>) {
  const sent: { url: string; init: RequestInit }[] = [];
  const handlers = makeTryHandlers(
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

test('the try options list chains by id, name and symbol, without their endpoints', async () => {
  const chain = aChain({ chainId: 31_337, name: 'Demo chain' });
  const { readTryOptions } = makeTryHandlers(
    partially<Dependencies>({
      config: { gateway: { publicUrl: 'https://api.example.com' } },
      chains: [chain],
    }),
  );
  expect(await readTryOptions({} as Call<'readTryOptions'>)).toEqual({
    gatewayUrl: 'https://api.example.com',
    chains: [{ chainId: 31_337, name: 'Demo chain', nativeSymbol: 'ETH' }],
  });
});

test('a key of another app is not sent anywhere', async () => {
  const { tryCheck, sent } = makeTry(async () => Response.json({}));
  const body = { apiKey: 'rck_live_another', check: {} };
  await expect(tryCheck(call({ body }))).rejects.toMatchObject({
    members: { errors: [{ pointer: '/apiKey' }] },
  });
  expect(sent).toEqual([]);
});
