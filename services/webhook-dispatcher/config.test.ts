import { loadConfig, loadSecretKeys, warningsOf } from './config.ts';

const SECRET_KEYS = `1:${Buffer.alloc(32, 7).toString('base64')}`;

test('allows no private address and no plain http by default, at the full schedule', () => {
  const config = loadConfig({ ROLECALL_SECRET_KEYS: SECRET_KEYS });
  expect(config.webhook).toMatchObject({ allowed: [], allowHttp: false, scheduleScale: 1 });
  expect(warningsOf(config)).toEqual([]);
});

test('names every wrong variable and no value', () => {
  const load = () =>
    loadConfig({
      ROLECALL_SECRET_KEYS: 'secret-value',
      WEBHOOK_ALLOWED_CIDRS: '10.0.0.0/99',
      WEBHOOK_SCHEDULE_SCALE: '2',
      WEBHOOK_ATTEMPT_TIMEOUT_MS: 'soon',
    });
  for (const name of [
    'ROLECALL_SECRET_KEYS',
    'WEBHOOK_ALLOWED_CIDRS',
    'WEBHOOK_SCHEDULE_SCALE',
    'WEBHOOK_ATTEMPT_TIMEOUT_MS',
  ])
    expect(load).toThrow(name);
  expect(load).not.toThrow(/secret-value|10\.0\.0\.0|soon/);
});

test('the secret keys are not part of the configuration', () => {
  const env = { ROLECALL_SECRET_KEYS: SECRET_KEYS };
  expect(JSON.stringify(loadConfig(env))).not.toContain('ROLECALL_SECRET_KEYS');
  expect(loadSecretKeys(env).current.number).toBe(1);
});

test('refuses a connect timeout above the attempt timeout', () => {
  const env = { ROLECALL_SECRET_KEYS: SECRET_KEYS, WEBHOOK_CONNECT_TIMEOUT_MS: '20000' };
  expect(() => loadConfig(env)).toThrow('WEBHOOK_CONNECT_TIMEOUT_MS');
});

test('warns about settings that allow private addresses or http, scale the schedule or cut attempts short', () => {
  const config = loadConfig({
    ROLECALL_SECRET_KEYS: SECRET_KEYS,
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_SCHEDULE_SCALE: '0.01',
    SHUTDOWN_TIMEOUT_MS: '5000',
  });
  expect(warningsOf(config)).toHaveLength(4);
});
