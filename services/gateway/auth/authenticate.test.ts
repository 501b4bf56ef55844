import type { IncomingMessage } from 'node:http';
import { hashApiKey, makeApiKey } from '#shared/contracts/apps/api-key.ts';
import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import type { KeyHolder } from '#shared/stores/apps/client-apps.ts';
import { makeAuthenticator } from './authenticate.ts';

const anApp = (clientId: string, changes: Partial<AppAccess> = {}): AppAccess => ({
  clientId,
  accountId: 'acc_1',
  suspended: false,
  scope: 'none',
  limits: appLimitsOf({ tier: 'free' }),
  ...changes,
});

const keyOf = (number: number): string => {
  const random = new Uint8Array(30);
  new DataView(random.buffer).setUint32(0, number);
  return makeApiKey(random);
};

/** A view whose keys belong to one app after the other, `keysPerApp` each. */
function start(keysPerApp: number) {
  const holders = new Map<string, KeyHolder>();
  const lookups = { hit: 0, miss: 0 };
  let nowMs = 0;
  const { authenticate, ...authenticator } = makeAuthenticator({
    findKey: async (hash) => holders.get(hash),
    now: () => nowMs,
    mayFail: () => true,
    observeLookup: (result) => {
      lookups[result] += 1;
    },
    noteUse: () => undefined,
  });
  return {
    ...authenticator,
    lookups,
    add(count: number) {
      for (let i = 0; i < count; i++) {
        const app = anApp(`app_${Math.floor(i / keysPerApp)}`);
        holders.set(hashApiKey(keyOf(i)), {
          keyId: `key_${i}`,
          permissions: ['check'],
          expiresAtMs: Infinity,
          app,
        });
      }
    },
    change(number: number, changes: Partial<KeyHolder> | undefined) {
      const hash = hashApiKey(keyOf(number));
      const before = holders.get(hash);
      if (before && changes) holders.set(hash, { ...before, ...changes });
      else holders.delete(hash);
    },
    at: (ms: number) => {
      nowMs = ms;
    },
    ask: (number: number) =>
      authenticate({ headers: { 'x-api-key': keyOf(number) } } as unknown as IncomingMessage, '192.0.2.1'),
  };
}

test('1 000 keys of one app share one kept app', async () => {
  const gateway = start(1_000);
  gateway.add(1_000);
  const callers = [];
  for (let i = 0; i < 1_000; i++) callers.push(await gateway.ask(i));
  expect(new Set(callers.map(({ app }) => app)).size).toBe(1);
  for (let i = 0; i < 1_000; i++) await gateway.ask(i);
  expect(gateway.lookups).toEqual({ hit: 1_000, miss: 1_000 });
});

test.each([
  ['keys of one app: 20 000', 30_000, 20_000],
  ['apps with a key each: as many as 8 MiB have room for', 1, 14_000],
])('however many keys there are, a bounded number is kept (%s)', async (_, keysPerApp, keptMax) => {
  const gateway = start(keysPerApp);
  gateway.add(30_000);
  for (let i = 0; i < 30_000; i++) await gateway.ask(i);
  // The newest first: a lookup of one that is not kept puts the oldest out.
  for (let i = 29_999; i >= 0; i--) await gateway.ask(i);
  expect(gateway.lookups.hit).toBeGreaterThan(0.5 * keptMax);
  expect(gateway.lookups.hit).toBeLessThanOrEqual(keptMax);
});

test('a key of many that is revoked is refused once the change is announced, and the others are not', async () => {
  const gateway = start(3);
  gateway.add(3);
  for (const key of [0, 1, 2]) await gateway.ask(key);
  gateway.change(1, undefined);
  gateway.forget('app_0');
  await gateway.ask(0);
  await expect(gateway.ask(1)).rejects.toMatchObject({ code: 'api-key-invalid' });
  await gateway.ask(2);
  // Each was read once more, and is known again.
  for (const key of [0, 2]) await gateway.ask(key);
  expect(gateway.lookups).toEqual({ hit: 2, miss: 6 });
});

test('a changed account changes the permissions of all its apps, and no other apps are read again', async () => {
  const gateway = start(1);
  gateway.add(3);
  gateway.change(2, { app: anApp('app_2', { accountId: 'acc_2' }) });
  for (const key of [0, 1, 2]) await gateway.ask(key);
  const limits = appLimitsOf({ tier: 'paid' });
  for (const key of [0, 1]) gateway.change(key, { app: anApp(`app_${key}`, { limits }) });
  gateway.forgetAccount('acc_1');
  for (const key of [0, 1]) expect((await gateway.ask(key)).app.limits).toEqual(limits);
  await gateway.ask(2);
  expect(gateway.lookups).toEqual({ hit: 1, miss: 5 });
});

test('the permissions of a key are kept in memory with it, and those of another key of the app are its own', async () => {
  const gateway = start(2);
  gateway.add(2);
  gateway.change(1, { permissions: ['read', 'manage'] });
  for (const _ of [1, 2])
    expect([(await gateway.ask(0)).permissions, (await gateway.ask(1)).permissions]).toEqual([
      ['check'],
      ['read', 'manage'],
    ]);
  expect(gateway.lookups).toEqual({ hit: 2, miss: 2 });
});

test('a key that is kept in memory is refused from the instant it expires', async () => {
  const gateway = start(1);
  gateway.add(1);
  gateway.change(0, { expiresAtMs: 1_000 });
  gateway.at(999);
  await gateway.ask(0);
  gateway.at(1_000);
  await expect(gateway.ask(0)).rejects.toMatchObject({ code: 'api-key-invalid' });
});
