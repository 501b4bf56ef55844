import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { aClientApp } from '../../../test/support/builders/a-client-app.ts';
import { makeSign, makeSigners } from './read-signers.ts';

const app = (webhookSecrets: ClientApp['webhookSecrets']) => aClientApp('app_1', { webhookSecrets });
const secret = (encrypted: string, expiresAt?: string) => ({
  encrypted,
  createdAt: '2026-11-21T10:00:00.000Z',
  ...(expiresAt ? { expiresAt } : {}),
});

/** A secret sealed by a key that is gone. */
const LOST = 'lost';

/** Signers of an app that a test may change, and the number of reads of the view. */
function setUp(initial: ClientApp | undefined) {
  const state = { app: initial, readCount: 0 };
  const signers = makeSigners({
    readClientApp: async () => {
      state.readCount += 1;
      return state.app;
    },
    open: (sealed, clientId) => {
      if (sealed === LOST) throw new Error('no key opens it');
      return `whsec_${Buffer.from(`${clientId}/${sealed}`).toString('base64')}`;
    },
    redisNowMs: () => Date.parse('2026-11-21T12:00:00.000Z'),
  });
  return { state, signers };
}

test('does not open an expired secret, whose key may be gone', async () => {
  const { signers } = setUp(app([secret('new'), secret(LOST, '2026-11-21T11:00:00.000Z')]));
  expect(await signers.read('app_1')).toHaveLength(1);
  const { signers: early } = setUp(app([secret('new'), secret(LOST, '2026-11-21T13:00:00.000Z')]));
  await expect(early.read('app_1')).rejects.toThrow('no key opens it');
});

test('opens each secret for its app, newest first, with its end', async () => {
  const { signers } = setUp(app([secret('new'), secret('old', '2026-11-22T10:00:00.000Z')]));
  const [newest, older] = await signers.read('app_1');
  const key = Buffer.from('app_1/new').toString('base64');
  expect(newest?.sign('text')).toBe(makeSign(`whsec_${key}`)('text'));
  expect(newest?.expiresAtMs).toBeUndefined();
  expect(older?.expiresAtMs).toBe(Date.parse('2026-11-22T10:00:00.000Z'));
});

test('refuses an app whose last secret has expired, so that no webhook is sent unsigned', async () => {
  const { signers } = setUp(app([secret('old', '2026-11-21T11:00:00.000Z')]));
  await expect(signers.read('app_1')).rejects.toMatchObject({ code: 'not-found' });
});

test('keeps no secrets of an app that changed while they were read', async () => {
  const { state, signers } = setUp(app([secret('old')]));
  const reads = [signers.read('app_1'), signers.read('app_1')];
  state.app = app([secret('new'), secret('old')]);
  signers.forget('app_1');
  for (const read of await Promise.all(reads)) expect(read).toHaveLength(1);
  expect(await signers.read('app_1')).toHaveLength(2);
});

test('reads the view once for many attempts, also when they come at once', async () => {
  const { state, signers } = setUp(app([secret('new')]));
  await Promise.all([signers.read('app_1'), signers.read('app_1')]);
  await signers.read('app_1');
  expect(state.readCount).toBe(1);
});

test('reads an app again after the notice of its change', async () => {
  const { state, signers } = setUp(app([secret('new')]));
  await signers.read('app_1');
  state.app = app([secret('newer'), secret('new')]);
  signers.forget('app_1');
  expect(await signers.read('app_1')).toHaveLength(2);
  signers.forget();
  await signers.read('app_1');
  expect(state.readCount).toBe(3);
});

test('throws not-found for an unknown app and for an app without a secret, and does not cache it', async () => {
  const { state, signers } = setUp(undefined);
  await expect(signers.read('app_1')).rejects.toMatchObject({ code: 'not-found' });
  state.app = app([]);
  await expect(signers.read('app_1')).rejects.toMatchObject({ code: 'not-found' });
  state.app = app([secret('new')]);
  expect(await signers.read('app_1')).toHaveLength(1);
});

test('refuses a secret without a key', async () => {
  expect(() => makeSign('whsec_')).toThrow(expect.objectContaining({ code: 'config-invalid' }));
});
