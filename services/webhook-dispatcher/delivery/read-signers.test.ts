import type { ClientApp } from '#shared/contracts/client-app.ts';
import { makeSign } from './make-sign.ts';
import { makeSigners } from './read-signers.ts';

const app = (secrets: ClientApp['webhookSecrets']): ClientApp => ({
  clientId: 'app_1',
  version: 1,
  accountId: 'acc_1',
  name: 'app',
  scope: 'approved',
  suspended: false,
  limits: { tier: 'free', requestsPerSecond: 10, requestsPerMonth: 10_000 },
  keys: [],
  webhookSecrets: secrets,
  createdAt: '2026-11-21T10:00:00.000Z',
});
const secret = (encrypted: string, expiresAt?: string) => ({
  encrypted,
  createdAt: '2026-11-21T10:00:00.000Z',
  ...(expiresAt ? { expiresAt } : {}),
});

/** Sealed by a key that is gone. */
const LOST = 'lost';

/** Reads of the view so far, and signers over an app whose secrets may be changed. */
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
    now: () => Date.parse('2026-11-21T12:00:00.000Z'),
  });
  return { state, signers };
}

test('a secret that has expired is not opened: the key that sealed it may be gone', async () => {
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

test('nobody signs once the last secret has ended: nothing is sent unsigned', async () => {
  const { signers } = setUp(app([secret('old', '2026-11-21T11:00:00.000Z')]));
  await expect(signers.read('app_1')).rejects.toMatchObject({ code: 'not-found' });
});

test('a change of the app while its secrets are read is read too, and fails nobody', async () => {
  const { state, signers } = setUp(app([secret('old')]));
  const reads = [signers.read('app_1'), signers.read('app_1')];
  state.app = app([secret('new'), secret('old')]);
  signers.forget('app_1');
  for (const read of await Promise.all(reads)) expect(read).toHaveLength(2);
});

test('reads the view once for many attempts, also when they come at once', async () => {
  const { state, signers } = setUp(app([secret('new')]));
  await Promise.all([signers.read('app_1'), signers.read('app_1')]);
  await signers.read('app_1');
  expect(state.readCount).toBe(1);
});

test('a change that was announced is seen by the next attempt', async () => {
  const { state, signers } = setUp(app([secret('new')]));
  await signers.read('app_1');
  state.app = app([secret('newer'), secret('new')]);
  signers.forget('app_1');
  expect(await signers.read('app_1')).toHaveLength(2);
  signers.forget();
  await signers.read('app_1');
  expect(state.readCount).toBe(3);
});

test('an unknown app and an app without a secret are not found, and that is not remembered', async () => {
  const { state, signers } = setUp(undefined);
  await expect(signers.read('app_1')).rejects.toMatchObject({ code: 'not-found' });
  state.app = app([]);
  await expect(signers.read('app_1')).rejects.toMatchObject({ code: 'not-found' });
  state.app = app([secret('new')]);
  expect(await signers.read('app_1')).toHaveLength(1);
});

test('a secret that opens to nothing signs nothing', async () => {
  expect(() => makeSign('whsec_')).toThrow(expect.objectContaining({ code: 'config-invalid' }));
});
