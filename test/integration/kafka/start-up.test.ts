import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';
import { spawnNode } from '../../support/systems/spawn-process.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: each service is started as an operator would start it, with something wrong or missing.
// It must name the problem in words, never hang, and never print a secret.

const SERVICES = ['gateway', 'evaluator', 'result-store', 'webhook-dispatcher'] as const;
const KEYS = `1:${Buffer.alloc(32, 7).toString('base64')}`;
const dir = mkdtempSync(join(tmpdir(), 'rolecall-start-up-'));
const chainsFile = join(dir, 'chains.json');

beforeAll(() => {
  const chain = { chainId: 1, name: 'One', nativeSymbol: 'ONE', endpoints: [{ url: 'http://127.0.0.1:9' }] };
  writeFileSync(chainsFile, JSON.stringify({ chains: [chain] }));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const environment = (over: Record<string, string> = {}) => ({
  KAFKA_BROKERS: infrastructure().brokers,
  REDIS_URL: `${infrastructure().redisUrl}/3`,
  CHAINS_FILE: chainsFile,
  ROLECALL_ID_KEYS: KEYS,
  ROLECALL_SECRET_KEYS: KEYS,
  OPS_HOST: '127.0.0.1',
  OPS_PORT: '0',
  HTTP_HOST: '127.0.0.1',
  HTTP_PORT: '0',
  ...over,
});
const start = (service: string, over: Record<string, string>) =>
  spawnNode([`services/${service}/main.ts`], environment(over));

test.each(SERVICES)(
  '%s refuses a wrong environment, names every wrong variable and never a value',
  async (service) => {
    await using process = start(service, {
      SHUTDOWN_TIMEOUT_MS: 'hunter2',
      OPS_PORT: '70000',
      LOG_LEVEL: 'loud',
    });
    expect(await process.exited).toBe(1);
    const said = process.stderr();
    for (const name of ['SHUTDOWN_TIMEOUT_MS', 'OPS_PORT', 'LOG_LEVEL']) expect(said).toContain(name);
    for (const value of ['hunter2', '70000', 'loud', KEYS.slice(2)]) expect(said).not.toContain(value);
    expect(said).not.toContain('    at ');
  },
);

test('a service waits for an absent broker with a message, within a bound', async () => {
  const [port] = await findFreePorts(1);
  await using process = start('evaluator', {
    KAFKA_BROKERS: `127.0.0.1:${port}`,
    DEPENDENCY_WAIT_MS: '3000',
  });
  expect(await process.exited).toBe(1);
  expect(process.stdout()).toContain('waiting for the broker');
  expect(process.stdout()).toContain('could not be reached within 3000 ms');
});

test('a service waits for an absent Redis, is alive and not ready meanwhile, and stops on a signal', async () => {
  const [redisPort, opsPort] = await findFreePorts(2);
  await using process = start('result-store', {
    REDIS_URL: `redis://127.0.0.1:${redisPort}`,
    OPS_PORT: `${opsPort}`,
  });
  await waitUntil('the message', () => process.stdout().includes('waiting for Redis'));
  const ask = (path: string) => fetch(`http://127.0.0.1:${opsPort}${path}`);
  expect((await ask('/livez')).status).toBe(200);
  expect((await ask('/metrics')).status).toBe(200);
  const ready = await ask('/readyz');
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ ready: false, checks: { process: 'starting' } });
  expect(await process.kill('SIGTERM')).toBe(0);
});
