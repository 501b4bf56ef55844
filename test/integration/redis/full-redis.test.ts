import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HealthChecks } from '#shared/http/ops-server.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { makeScript, withLock } from '#shared/redis/script.ts';
import { makeViewState } from '#shared/redis/view.ts';
import { makeLogger } from '#shared/telemetry/log.ts';
import { startRedis } from '../../../deploy/local/infrastructure/redis.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { testConfig, testContext } from '../../support/infrastructure/connections.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: a Redis of its own reaches its bound, and gets room again.

test('a full Redis is not ready, says so in its own words, and is well once it has room', async () => {
  await using scope = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-full-'));
  scope.defer(() => rmSync(dir, { recursive: true, force: true }));
  const [port = 0] = await findFreePorts(1);
  const { url } = scope.use(await startRedis({ dir, port }));
  const lines: string[] = [];
  const log = makeLogger('test', 'info', { write: (line) => void lines.push(line) });
  const context = { ...testContext(), log, readiness: new HealthChecks() };
  const { redis } = scope.use(await connectRedis({ ...testConfig(0), url }, context));
  const views = makeViewState(withLock(redis, 'token'));
  await views.lock('token');
  await views.open();
  await views.finish();
  const check = () => context.readiness.judge().checks['redis'];
  const metric = async (name: string) =>
    Number(new RegExp(`^${name}\\S* (\\d+)`, 'm').exec(await context.metrics.metrics())?.[1]);
  expect(check()).toBe(true);
  expect(await metric('rolecall_redis_used_bytes')).toBeGreaterThan(100_000);
  expect(await metric('rolecall_redis_max_bytes')).toBe(0);

  await redis.config('SET', 'maxmemory', '100kb');
  const write = makeScript<number>(redis, `redis.call('SET', KEYS[1], ARGV[1]) return 1`);
  await expect(write(['key'], ['value'])).rejects.toMatchObject({
    code: 'store-unavailable',
    message: expect.stringContaining("OOM command not allowed when used memory > 'maxmemory'"),
  });
  expect(check()).toBe('full');
  expect(lines.join('')).toContain("OOM command not allowed when used memory > 'maxmemory'");
  // What needs no memory goes on: the views are complete.
  expect(await views.readState()).toBe('complete');
  await waitUntil('the metric', async () => (await metric('rolecall_redis_max_bytes')) === 102_400);

  await redis.config('SET', 'maxmemory', '0');
  await waitUntil('readiness', () => check() === true);
  expect(await write(['key'], ['value'])).toBe(1);
});

test('a Redis that nobody writes to is found full too', async () => {
  await using scope = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-full-'));
  scope.defer(() => rmSync(dir, { recursive: true, force: true }));
  const [port = 0] = await findFreePorts(1);
  const { url } = scope.use(await startRedis({ dir, port }));
  const context = { ...testContext(), readiness: new HealthChecks() };
  const { redis } = scope.use(await connectRedis({ ...testConfig(0), url }, context));
  await redis.config('SET', 'maxmemory', '100kb');
  await waitUntil('readiness', () => context.readiness.judge().checks['redis'] === 'full');
});
