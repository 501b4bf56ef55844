import { type ClientApp, KEYS_MAX } from '#shared/contracts/apps/client-app.ts';
import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import {
  addKey,
  decideScope,
  ENDED_KEYS_MAX,
  hasTooManyKeys,
  remove,
  requestScope,
  resealSecrets,
  revokeKey,
  rollKey,
  rotateSecret,
  set,
} from './change-app.ts';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const HOUR_MS = 3_600_000;
const at = (hours: number) => new Date(NOW + hours * HOUR_MS).toISOString();
const key = (keyId: string) => ({
  keyId,
  hash: keyId.repeat(8),
  name: 'k',
  prefix: 'rck_live_abc',
  lastFour: 'wxyz',
  marketplace: false,
  permissions: ['check' as const],
  createdAt: at(-1),
});
const anApp = (over: Partial<ClientApp> = {}): ClientApp => ({
  clientId: 'app_1',
  version: 1,
  accountId: 'acc_1',
  name: 'one',
  scope: 'requested',
  suspended: false,
  limits: appLimitsOf({ tier: 'free' }),
  keys: [key('key_1')],
  webhookSecrets: [{ encrypted: 'first', createdAt: at(-100) }],
  createdAt: at(-100),
  ...over,
});

test('a change that is already in effect returns undefined', () => {
  expect(set<ClientApp>({ suspended: false })(anApp())).toBeUndefined();
  expect(set<ClientApp>({ suspended: true })(anApp({ suspended: true }))).toBeUndefined();
  expect(decideScope('approved', at(0))(anApp({ scope: 'approved' }))).toBeUndefined();
  expect(revokeKey('key_unknown', at(0))(anApp())).toBeUndefined();
});

test('a rejected scope keeps its reason until it is approved', () => {
  const rejected = decideScope('rejected', at(0), 'no use given')(anApp());
  expect(rejected).toMatchObject({ scope: 'rejected', scopeReason: 'no use given' });
  const approved = rejected && decideScope('approved', at(0))(rejected);
  expect(approved?.scope).toBe('approved');
  expect(approved).not.toHaveProperty('scopeReason');
});

test('a revoked key stays in the document', () => {
  const changed = revokeKey('key_1', at(0))(anApp());
  expect(changed?.keys).toEqual([{ ...key('key_1'), revokedAt: at(0) }]);
  expect(addKey(key('key_2'), NOW)(anApp())?.keys.map(({ keyId }) => keyId)).toEqual(['key_1', 'key_2']);
});

test('after a rotation the new secret is first and the old one signs for the overlap', () => {
  const rotated = rotateSecret('second', NOW, 24 * HOUR_MS)(anApp());
  expect(rotated?.webhookSecrets).toEqual([
    { encrypted: 'second', createdAt: at(0) },
    { encrypted: 'first', createdAt: at(-100), expiresAt: at(24) },
  ]);
});

test('at most three secrets live at a time, expired ones go, and no rotation prolongs an old one', () => {
  const app = anApp({
    webhookSecrets: [
      { encrypted: 'c', createdAt: at(-1) },
      { encrypted: 'b', createdAt: at(-2), expiresAt: at(1) },
      { encrypted: 'a', createdAt: at(-3), expiresAt: at(2) },
      { encrypted: 'gone', createdAt: at(-9), expiresAt: at(-1) },
    ],
  });
  const secrets = rotateSecret('d', NOW, 24 * HOUR_MS)(app)?.webhookSecrets;
  expect(secrets?.map(({ encrypted, expiresAt }) => [encrypted, expiresAt])).toEqual([
    ['d', undefined],
    ['c', at(24)],
    ['b', at(1)],
  ]);
});

test('resealed secrets keep their order and expiry, and an up-to-date app needs no change', () => {
  const app = anApp({
    webhookSecrets: [
      { encrypted: '2.b', createdAt: at(-1) },
      { encrypted: '1.a', createdAt: at(-2), expiresAt: at(1) },
    ],
  });
  const reseal = (encrypted: string) => encrypted.replace('1.', '2.');
  const anew = resealSecrets(reseal)(app);
  expect(anew?.webhookSecrets).toEqual([
    { encrypted: '2.b', createdAt: at(-1) },
    { encrypted: '2.a', createdAt: at(-2), expiresAt: at(1) },
  ]);
  expect(anew && resealSecrets(reseal)(anew)).toBeUndefined();
});

test('a rolled key lives for the overlap and no longer than before, and its predecessor ends at once', () => {
  const app = anApp({ keys: [{ ...key('first'), expiresAt: at(1) }] });
  const once = rollKey('first', key('second'), NOW, 24 * HOUR_MS)(app);
  expect(once?.keys).toEqual([{ ...key('first'), expiresAt: at(1), replacedBy: 'second' }, key('second')]);
  const twice = once && rollKey('second', key('third'), NOW, 24 * HOUR_MS)(once);
  expect(twice?.keys).toEqual([
    { ...key('first'), expiresAt: at(1), replacedBy: 'second', revokedAt: at(0) },
    { ...key('second'), expiresAt: at(24), replacedBy: 'third' },
    key('third'),
  ]);
});

test('a key whose replacement is revoked counts again, so no number of rolls exceeds the limit', () => {
  const app = anApp({ keys: [key('first')] });
  const rolled = rollKey('first', key('second'), NOW, 24 * HOUR_MS)(app);
  const revoked = rolled && revokeKey('second', at(0))(rolled);
  expect(revoked?.keys).toEqual([
    { ...key('first'), expiresAt: at(24) },
    { ...key('second'), revokedAt: at(0) },
  ]);
  const added = revoked && addKey(key('third'), NOW)(revoked);
  expect(revoked && added && hasTooManyKeys(revoked, added, 1, NOW)).toBe(true);
});

test('adding a key or secret that exists changes nothing', () => {
  expect(addKey(key('key_1'), NOW)(anApp())).toBeUndefined();
  expect(rollKey('key_1', key('key_1'), NOW, 0)(anApp())).toBeUndefined();
  expect(rotateSecret('first', NOW, 0)(anApp())).toBeUndefined();
  expect(set<ClientApp>({ name: 'one' })(anApp())).toBeUndefined();
});

test('a document drops its oldest ended keys beyond a hundred, and no usable key', () => {
  const ended = Array.from({ length: ENDED_KEYS_MAX + 2 }, (_, i) => ({
    ...key(`ended_${i}`),
    revokedAt: at(-1),
  }));
  const keys = addKey(key('fresh'), NOW)(anApp({ keys: [key('usable'), ...ended] }))?.keys ?? [];
  expect(keys.map(({ keyId }) => keyId)).toEqual([
    'usable',
    ...ended.slice(2).map(({ keyId }) => keyId),
    'fresh',
  ]);
});

test('one live key above the limit is detected; ended and rolled keys are not counted', () => {
  const judge = (before: readonly ReturnType<typeof key>[], after: readonly object[], countMax: number) =>
    hasTooManyKeys(anApp({ keys: [...before] }), anApp({ keys: after as ClientApp['keys'] }), countMax, NOW);
  const two = [key('one'), key('two')];
  expect(judge(two, [...two, key('three')], 3)).toBe(false);
  expect(judge(two, [...two, key('three')], 2)).toBe(true);
  expect(judge(two, [...two, { ...key('three'), revokedAt: at(-1) }], 2)).toBe(false);
  expect(judge(two, [{ ...key('one'), replacedBy: 'three' }, key('two'), key('three')], 2)).toBe(false);
  // After a downgrade the existing keys may be rolled.
  expect(judge(two, [{ ...key('one'), replacedBy: 'three' }, key('two'), key('three')], 1)).toBe(false);
  expect(
    judge(
      [],
      Array.from({ length: KEYS_MAX + 1 }, (_, i) => ({ ...key(`${i}`), revokedAt: at(-1) })),
      5,
    ),
  ).toBe(true);
});

test('a deleted app keeps only the marketplace keys that its account counted, and signs accepted checks for two days', () => {
  const gone = remove(NOW)(anApp({ keys: [key('key_1'), { ...key('listing'), marketplace: true }] }));
  expect(gone).toMatchObject({ deletedAt: at(0), keys: [{ keyId: 'listing', revokedAt: at(0) }] });
  expect(gone?.keys).toHaveLength(1);
  expect(gone?.webhookSecrets).toEqual([{ encrypted: 'first', createdAt: at(-100), expiresAt: at(48) }]);
});

test('a scope can be requested again after a rejection, but not after its approval', () => {
  const asked = requestScope('gate a forum', at(0))(anApp({ scope: 'rejected', scopeReason: 'no' }));
  expect(asked).toMatchObject({ scope: 'requested', scopePurpose: 'gate a forum', scopeRequestedAt: at(0) });
  expect(asked).not.toHaveProperty('scopeReason');
  expect(asked && requestScope('gate a forum', at(1))(asked)).toBeUndefined();
  expect(requestScope('more', at(1))(anApp({ scope: 'approved' }))).toBeUndefined();
});

test('a change that changes nothing writes no new version', () => {
  const rejected = anApp({ scope: 'rejected', scopeReason: 'too vague' });
  expect(decideScope('rejected', at(0), 'too vague')(rejected)).toBeUndefined();
  expect(decideScope('rejected', at(0), 'still too vague')(rejected)).toMatchObject({
    scopeReason: 'still too vague',
  });
});

test.each<[first: Partial<ClientApp>, second: Partial<ClientApp>, none: Partial<ClientApp>]>([
  [{ alertUrl: 'https://one.example' }, { alertUrl: 'https://other.example' }, { alertUrl: undefined }],
  [{ domains: ['a.example', 'b.example:8443'] }, { domains: ['b.example:8443'] }, { domains: undefined }],
])('%j is set, changed and taken away, and the same value changes nothing', (first, second, none) => {
  const changed = set<ClientApp>(first)(anApp()) ?? anApp();
  expect(changed).toEqual({ ...anApp(), ...first });
  expect(set<ClientApp>(first)(changed)).toBeUndefined();
  expect(set<ClientApp>(second)(changed)).toEqual({ ...anApp(), ...second });
  expect(Object.keys(set<ClientApp>(none)(changed) ?? {})).toEqual(Object.keys(anApp()));
  expect(set<ClientApp>(none)(anApp())).toBeUndefined();
});
