import type { ApiKeyRecord } from '#shared/contracts/apps/client-app.ts';
import type { DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { aClientApp } from '../../../../test/support/builders/a-client-app.ts';
import { aWatch } from '../../../../test/support/builders/a-watch.ts';
import { composeNotice, mattersOfApp, mattersOfWatch } from './find-matters.ts';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const HOUR_MS = 3_600_000;
const at = (hours: number) => new Date(NOW + hours * HOUR_MS).toISOString();
const NO_WEBHOOKS = { newest: [], failedCount: 0 };

const aDelivery = (over: Partial<DeliveryView>) =>
  ({ state: 'pending', acceptedAt: at(-2), attempts: [{}], ...over }) as DeliveryView;
const aKey = (over: Partial<ApiKeyRecord>): ApiKeyRecord => ({
  keyId: 'key_1',
  hash: 'h',
  name: 'bot',
  prefix: 'rck_live_abc',
  lastFour: 'wxyz',
  marketplace: false,
  permissions: ['check'],
  createdAt: at(-100),
  ...over,
});
const ofDeliveries = (newest: readonly DeliveryView[], failedCount = 0) =>
  mattersOfApp(aClientApp('app_1'), { newest, failedCount }, NOW).map(({ text }) => text());

test('an app without faults has no matter', () => {
  expect(mattersOfApp(aClientApp('app_1'), NO_WEBHOOKS, NOW)).toEqual([]);
});

test('a receiver that has accepted nothing for an hour is a matter', () => {
  expect(ofDeliveries([aDelivery({}), aDelivery({ acceptedAt: at(-0.5) })])).toEqual([
    expect.stringContaining('have not been accepted for more than an hour'),
  ]);
});

test.each([
  ['one was accepted', [aDelivery({}), aDelivery({ state: 'delivered' })]],
  ['none has waited for an hour', [aDelivery({ acceptedAt: at(-0.9) })]],
  ['none was attempted', [aDelivery({ attempts: [] })]],
])('undelivered webhooks are no matter if %s', (_, newest) => {
  expect(ofDeliveries(newest)).toEqual([]);
});

test('webhooks that were given up are counted', () => {
  expect(ofDeliveries([aDelivery({ state: 'delivered' })], 3)).toEqual([
    expect.stringContaining('given up in the last day: 3.'),
  ]);
});

test('a key is a matter in its last week, and another one on its last day', () => {
  const idsOf = (key: Partial<ApiKeyRecord>) =>
    mattersOfApp(aClientApp('app_1', { keys: [aKey(key)] }), NO_WEBHOOKS, NOW).map(({ id }) => id);
  expect(idsOf({ expiresAt: at(8 * 24) })).toEqual([]);
  expect(idsOf({ expiresAt: at(6 * 24) })).toEqual(['key/key_1/week']);
  expect(idsOf({ expiresAt: at(23) })).toEqual(['key/key_1/day']);
  expect(idsOf({ expiresAt: at(-1) })).toEqual([]);
  expect(idsOf({ expiresAt: at(23), revokedAt: at(-1) })).toEqual([]);
  expect(idsOf({ expiresAt: at(23), replacedBy: 'key_2' })).toEqual([]);
});

test.each(['none', 'requested', 'rejected'] as const)(
  'keys and webhooks of an app whose scope is %s are no matter: its owner may have signed up with the address of others',
  (scope) => {
    const app = aClientApp('app_1', { scope, keys: [aKey({ expiresAt: at(23) })] });
    expect(mattersOfApp(app, { newest: [aDelivery({})], failedCount: 1 }, NOW)).toEqual([]);
  },
);

test('a decision about a requested scope is a matter for a day, with its reason', () => {
  const textsOf = (over: Parameters<typeof aClientApp>[1]) =>
    mattersOfApp(aClientApp('app_1', over), NO_WEBHOOKS, NOW).map(({ text }) => text());
  const decided = { scopeRequestedAt: at(-3), scopeDecidedAt: at(-2) };
  expect(textsOf(decided)).toEqual([expect.stringContaining('was approved')]);
  expect(textsOf({ ...decided, scope: 'rejected', scopeReason: 'too vague' })).toEqual([
    expect.stringContaining('was not approved: too vague'),
  ]);
  expect(textsOf({ ...decided, scopeDecidedAt: at(-25) })).toEqual([]);
  expect(textsOf({ scopeDecidedAt: at(-2) })).toEqual([]);
});

test('a watch that is held or blind is a matter, unless it is paused or deleted', () => {
  const held = [{ id: 'gold', holders: 30, revocations: 25, heldAt: at(-1) }];
  const stalled = [{ chainId: 10, since: at(-3), reportedAt: at(-2) }];
  const textsOf = (over: Parameters<typeof aWatch>[0]) =>
    mattersOfWatch(aWatch(over)).map(({ text }) => text());
  expect(textsOf({})).toEqual([]);
  expect(textsOf({ held, stalled })).toEqual([
    expect.stringContaining('holds back 25 revocations of "gold"'),
    expect.stringContaining(`10 (since ${at(-3)})`),
  ]);
  expect(textsOf({ held, stalled, paused: { reason: 'requested', at: at(0) } })).toEqual([]);
  expect(textsOf({ held, stalled, deletedAt: at(0) })).toEqual([]);
});

test('of the roles that a watch holds back ten are named, and the others are counted', () => {
  const held = Array.from({ length: 100 }, (_, i) => ({
    id: `role-${i}`,
    holders: 30,
    revocations: 2,
    heldAt: at(-1),
  }));
  const [text = ''] = mattersOfWatch(aWatch({ held })).map((matter) => matter.text());
  expect(text).toContain('holds back 200 revocations');
  expect(text).toContain('"role-9" and 90 more, because');
  expect(text).not.toContain('"role-10"');
});

test('a message names each matter with its page, and how to turn it off', () => {
  const matters = [0, 1].map((i) => ({ text: `Matter ${i}.`, path: `/apps/app_${i}` }));
  const compose = (more: number) =>
    composeNotice({ email: 'dev@example.com' }, { matters, more }, 'https://portal.example.com');
  const { to, text } = compose(3);
  expect(to).toBe('dev@example.com');
  expect(text).toContain('Matter 1.\nhttps://portal.example.com/apps/app_1\n');
  expect(text).toContain('And 3 more.');
  expect(text).toContain('https://portal.example.com/account');
  expect(compose(0).text).not.toContain('more.');
});
