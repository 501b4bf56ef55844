import { hashApiKey } from '#shared/contracts/apps/api-key.ts';
import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { aWatch } from '../../../../test/support/builders/a-watch.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import type { Dependencies } from '../../dependencies.ts';
import { makeWatchHandlers } from './handle-watches.ts';

const KEY = 'rck_live_x';
const RULES = [{ type: 'NATIVE', chainId: 1, roleId: 'vip', minToken: '2' }];

function makeHandlers(fetch: typeof globalThis.fetch) {
  return makeWatchHandlers(
    partially<Dependencies>({
      watches: { read: async (_, id) => (id === 'members' ? aWatch({ watchId: id }) : undefined) },
      config: { gateway: { url: 'http://gateway' } },
      fetch,
    }),
  );
}
const call = (watchId: string, apiKey = KEY) => ({
  body: { apiKey, rules: RULES, onUndetermined: 'omit' as const },
  account: {} as Account,
  app: { clientId: 'app_1', keys: [{ hash: hashApiKey(KEY) }] } as unknown as ClientApp,
  owner: {} as Account,
  idempotencyKey: 'once',
  address: '',
  browser: '',
  token: undefined,
  setSessionToken: () => undefined,
  param: () => watchId,
  query: undefined,
  upload: undefined,
});
const NOT_ASKED = () => Promise.reject(new Error('not asked for'));

test('the gateway receives the rules and the watch, with the key and the idempotency key, and its answer is passed on', async () => {
  const sent: { url: string; init: RequestInit }[] = [];
  const { previewWatch } = makeHandlers(async (url, init = {}) => {
    sent.push({ url: String(url), init });
    return Response.json({ code: 'monthly-quota-exceeded' }, { status: 429 });
  });
  expect(await previewWatch(call('members'))).toEqual({
    status: 429,
    body: { code: 'monthly-quota-exceeded' },
  });
  expect(sent[0]).toMatchObject({
    url: 'http://gateway/access-control/check-roles/batch',
    init: {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': KEY, 'idempotency-key': 'once' },
    },
  });
  expect(JSON.parse(String(sent[0]?.init.body))).toEqual({
    watch: 'members',
    rules: RULES,
    onUndetermined: 'omit',
    explain: true,
  });
});

test('neither the watch of another app nor a key of another app is sent anywhere', async () => {
  const { previewWatch } = makeHandlers(NOT_ASKED);
  await expect(previewWatch(call('others'))).rejects.toMatchObject({ code: 'not-found' });
  await expect(previewWatch(call('members', 'rck_live_another'))).rejects.toMatchObject({
    members: { errors: [{ pointer: '/apiKey' }] },
  });
});
