import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isWellFormedApiKey } from '#shared/contracts/apps/api-key.ts';
import { parseKeyRing } from '#shared/secret-box.ts';
import { loadLocalSecrets } from './local-secrets.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rolecall-secrets-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('the secrets are created once and reused', () => {
  const first = loadLocalSecrets(dir);
  expect(loadLocalSecrets(dir)).toEqual(first);
  expect(loadLocalSecrets(join(dir, 'other'))).not.toEqual(first);
});

test('only their owner can read them', () => {
  loadLocalSecrets(dir);
  expect(statSync(join(dir, 'local-secrets.json')).mode & 0o777).toBe(0o600);
});

test('they have the forms that the services accept', () => {
  const { app, idKeys, secretKeys, proofKeys } = loadLocalSecrets(dir);
  expect(isWellFormedApiKey(app.apiKey)).toBe(true);
  expect(app.clientId).toMatch(/^app_/);
  expect(Buffer.from(app.webhookSecret.replace('whsec_', ''), 'base64')).toHaveLength(32);
  expect(parseKeyRing(idKeys).current.number).toBe(1);
  expect(parseKeyRing(secretKeys).current.number).toBe(1);
  expect(parseKeyRing(proofKeys).current.number).toBe(1);
});

test('a file from before verdicts were signed gets a key for them once, and keeps the rest', () => {
  const { proofKeys: _proofKeys, ...older } = loadLocalSecrets(dir);
  writeFileSync(join(dir, 'local-secrets.json'), JSON.stringify(older));
  const completed = loadLocalSecrets(dir);
  expect(completed).toEqual({ ...older, proofKeys: expect.stringMatching(/^1:/) });
  expect(loadLocalSecrets(dir)).toEqual(completed);
});

test('a damaged file is an error that does not repeat it', () => {
  const file = join(dir, 'local-secrets.json');
  writeFileSync(file, '{"secretKeys":"1:hush"}');
  expect(() => loadLocalSecrets(dir)).toThrow(/is incomplete/);
  expect(() => loadLocalSecrets(dir)).not.toThrow(/hush/);
  expect(readFileSync(file, 'utf8')).toContain('hush');
});
