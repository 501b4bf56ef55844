import type { ClientApp } from '#shared/contracts/client-app.ts';
import { addKey, approveScope, rejectScope, resume, revokeKey, rotateSecret, suspend } from './change-app.ts';

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
  createdAt: at(-1),
});
const anApp = (over: Partial<ClientApp> = {}): ClientApp => ({
  clientId: 'app_1',
  version: 1,
  accountId: 'acc_1',
  name: 'one',
  scope: 'requested',
  suspended: false,
  limits: { tier: 'free', requestsPerSecond: 10, requestsPerMonth: 10_000 },
  keys: [key('key_1')],
  webhookSecrets: [{ encrypted: 'first', createdAt: at(-100) }],
  createdAt: at(-100),
  ...over,
});

test('what is as wished already is left alone', () => {
  expect(resume(anApp())).toBeUndefined();
  expect(suspend(anApp({ suspended: true }))).toBeUndefined();
  expect(approveScope(anApp({ scope: 'approved' }))).toBeUndefined();
  expect(revokeKey('key_unknown', at(0))(anApp())).toBeUndefined();
});

test('a rejected scope keeps its reason until it is approved', () => {
  const rejected = rejectScope('no use given')(anApp());
  expect(rejected).toMatchObject({ scope: 'rejected', scopeReason: 'no use given' });
  const approved = rejected && approveScope(rejected);
  expect(approved?.scope).toBe('approved');
  expect(approved).not.toHaveProperty('scopeReason');
});

test('a revoked key stays in the document', () => {
  const changed = revokeKey('key_1', at(0))(anApp());
  expect(changed?.keys).toEqual([{ ...key('key_1'), revokedAt: at(0) }]);
  expect(addKey(key('key_2'))(anApp())?.keys.map(({ keyId }) => keyId)).toEqual(['key_1', 'key_2']);
});

test('after a rotation the new secret stands first and the old one signs for the overlap', () => {
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
