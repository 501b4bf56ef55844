import type { Account } from '#shared/contracts/apps/client-app.ts';
import type { Request } from './answer.ts';
import { requireAccount, requireIdempotencyKey, requireOwnOrigin, tokenOf } from './guard.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

const aRequest = (headers: Record<string, string>) =>
  ({ protocol: 'http', headers: { host: 'portal:8081', ...headers } }) as unknown as Request;
const isOwn = (headers: Record<string, string>, origin?: string): boolean => {
  try {
    requireOwnOrigin(aRequest(headers), origin);
    return true;
  } catch {
    return false;
  }
};

test("without a configured origin, `Origin` must match the request's `Host`", () => {
  expect(isOwn({ origin: 'http://portal:8081' })).toBe(true);
  for (const origin of [
    'https://portal:8081',
    'http://portal',
    'http://portal:8081.evil.example',
    'null',
    '',
  ])
    expect([origin, isOwn({ origin })]).toEqual([origin, false]);
});

test('with a configured origin, `Host` is ignored', () => {
  const own = 'https://portal.example.com';
  expect(isOwn({ origin: own }, own)).toBe(true);
  expect(isOwn({ origin: 'http://portal:8081' }, own)).toBe(false);
});

test('a write without `Origin` needs `Sec-Fetch-Site: same-origin`', () => {
  expect(isOwn({})).toBe(false);
  expect(isOwn({ 'sec-fetch-site': 'same-origin' })).toBe(true);
  for (const site of ['same-site', 'cross-site', 'none'])
    expect(isOwn({ 'sec-fetch-site': site })).toBe(false);
});

test('tokenOf finds the session token among other cookies', () => {
  const tokenIn = (cookie: string) => tokenOf(aRequest({ cookie }), undefined);
  expect(tokenIn('a=b; rolecall_session=token; c=d')).toBe('token');
  for (const cookie of ['', 'rolecall_session=', 'xrolecall_session=token', 'a=rolecall_session'])
    expect(tokenIn(cookie)).toBeUndefined();
});

test('over TLS only the cookie that the own host has set is a session', () => {
  const origin = 'https://portal.example.com';
  const planted = 'rolecall_session=planted';
  expect(tokenOf(aRequest({ cookie: planted }), origin)).toBeUndefined();
  expect(tokenOf(aRequest({ cookie: `${planted}; __Host-rolecall_session=own` }), origin)).toBe('own');
  const forwarded = { ...aRequest({ cookie: planted }), secure: true } as Request;
  expect(tokenOf(forwarded, undefined)).toBeUndefined();
  expect(tokenOf(aRequest({ cookie: planted }), 'http://portal.example.com')).toBe('planted');
});

test('an idempotency key is a UUID', () => {
  const key = '0198A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B';
  expect(requireIdempotencyKey(aRequest({ 'idempotency-key': key }))).toBe(key.toLowerCase());
  expect(() => requireIdempotencyKey(aRequest({ 'idempotency-key': 'once' }))).toThrow(/UUID/);
});

test('an operator who must set up a second factor can do nothing else', async () => {
  const operator = { operator: 'change' } as Account;
  const allowed = async (account: Account, operatorsNeedTwoFactor: boolean) => {
    const deps = { sessions: { find: async () => account }, config: { operatorsNeedTwoFactor } };
    const open: string[] = [];
    for (const [id, operation] of Object.entries<Operation>(OPERATIONS))
      if (operation.access !== 'public')
        await requireAccount(deps, 'token', operation).then(
          () => open.push(id),
          (error) => expect(error).toMatchObject({ code: 'two-factor-required', status: 403 }),
        );
    return open.sort();
  };
  const all = await allowed(operator, false);
  expect(all.length).toBeGreaterThan(50);
  expect(await allowed({ ...operator, twoFactor: {} } as Account, true)).toEqual(all);
  expect(await allowed(operator, true)).toEqual(['beginTwoFactor', 'enableTwoFactor', 'readSession']);
});

test('an operator who may read does nothing but read; others are no operators', async () => {
  const refusedTo = async (account: Account) => {
    const deps = { sessions: { find: async () => account }, config: { operatorsNeedTwoFactor: false } };
    const refused: string[] = [];
    for (const [id, operation] of Object.entries<Operation>(OPERATIONS))
      if (operation.access !== 'public')
        await requireAccount(deps, 'token', operation).catch((error) => {
          expect(error).toMatchObject({ code: 'operator-required', status: 403 });
          refused.push(id);
        });
    return refused.sort();
  };
  const of = (wanted: (operation: Operation) => boolean) =>
    Object.entries<Operation>(OPERATIONS)
      .filter(([, operation]) => operation.access === 'operator' && wanted(operation))
      .map(([id]) => id)
      .sort();
  expect(await refusedTo({ operator: 'change' } as Account)).toEqual([]);
  expect(await refusedTo({ operator: 'read' } as Account)).toEqual(of(({ method }) => method !== 'get'));
  expect(await refusedTo({} as Account)).toEqual(of(() => true));
});
