import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HealthChecks } from '#shared/http/ops-server.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { openConnection } from '#shared/redis/open-connection.ts';
import { makeScript } from '#shared/redis/script.ts';
import { subscribe } from '#shared/redis/subscribe.ts';
import { makeLogger } from '#shared/telemetry/log.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { testConfig, testContext } from '../../support/infrastructure/connections.ts';
import { type RedisPair, startRedisPair } from '../../support/infrastructure/redis-pair.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: a primary and its replica behind one address. The replica is promoted, new connections
// lead to it, and the old primary goes on as its replica and closes no connection. Nobody else
// closes one either.

/** The bound on a failover, of which the new role is asked for every 2 s. */
const WORKS_AGAIN_MS = 30_000;
const SET = `redis.call('SET', KEYS[1], ARGV[1]) return 1`;

async function startPair(scope: AsyncDisposableStack): Promise<RedisPair> {
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-failover-'));
  scope.defer(() => rmSync(dir, { recursive: true, force: true }));
  const [port = 0, first = 0, second = 0] = await findFreePorts(3);
  return scope.use(await startRedisPair({ dir, port, ports: [first, second] }));
}

async function connect(scope: AsyncDisposableStack, { url }: RedisPair) {
  const lines: string[] = [];
  const log = makeLogger('test', 'info', { write: (line) => void lines.push(line) });
  const readiness = new HealthChecks();
  const config = { ...testConfig(0), redis: { url } };
  const connection = await connectRedis({ ...config, ...config.redis }, { ...testContext(), log, readiness });
  scope.use(connection);
  return { ...connection, lines, redisCheck: () => readiness.judge().checks['redis'] };
}

test('idle connections leave a server that became a replica, and work on the new primary', async () => {
  await using scope = new AsyncDisposableStack();
  const pair = await startPair(scope);
  const { redis, subscriber, lines, redisCheck } = await connect(scope, pair);
  const received: string[] = [];
  let gapCount = 0;
  await subscribe(await subscriber(), 'channel', {
    onMessage: (message) => void received.push(message),
    onGap: () => void gapCount++,
  });

  await pair.promote();
  pair.moveAddress();
  expect(pair.countLeft()).toBe(2);
  await waitUntil('both connections to leave', () => pair.countLeft() === 0, WORKS_AGAIN_MS);
  await waitUntil('readiness', () => redisCheck() === true, WORKS_AGAIN_MS);
  await redis.set('written', 'after');
  expect(await pair.primary().get('written')).toBe('after');
  await waitUntil('the subscription', () => gapCount > 0, WORKS_AGAIN_MS);
  await waitUntil('a message', async () => {
    await pair.primary().publish('channel', 'news');
    return received.includes('news');
  });
  expect(lines.join()).toContain('Redis is a replica, which refuses writes');
});

test('a process whose only server is a replica is not ready, and says why', async () => {
  await using scope = new AsyncDisposableStack();
  const pair = await startPair(scope);
  const { redis, redisCheck } = await connect(scope, pair);
  expect(redisCheck()).toBe(true);

  await pair.promote();
  await waitUntil('the fault', () => redisCheck() === 'Redis is a replica', WORKS_AGAIN_MS);
  await expect(redis.get('anything')).rejects.toThrow();
  pair.moveAddress();
  await waitUntil('readiness', () => redisCheck() === true, WORKS_AGAIN_MS);
  expect(await redis.set('written', 'after')).toBe('OK');
});

test.each([
  ['a command', undefined],
  ['a script', makeScript],
  ['a script that carries many calls', makeBatchedScript],
] as const)('the refused write of %s ends the connection', async (_, make) => {
  await using scope = new AsyncDisposableStack();
  const pair = await startPair(scope);
  const { redis, check } = openConnection({ url: pair.url, purpose: 'test' }, testContext().log);
  scope.defer(() => redis.disconnect());
  await redis.connect();
  const script = make?.(redis, SET);
  const write = (value: string): Promise<unknown> =>
    script ? script(['key'], [value]) : redis.set('key', value);
  await write('before');

  await pair.promote();
  pair.moveAddress();
  // Many at once: each is refused, and the connection is left once.
  const writes = await Promise.allSettled(Array.from({ length: 50 }, () => write('during')));
  expect(new Set(writes.map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect(check()).toBe('Redis is a replica');
  await waitUntil('the new primary', () => check() === true, WORKS_AGAIN_MS);
  await write('after');
  expect(await pair.primary().get('key')).toBe('after');
  expect(pair.countLeft()).toBe(0);
});

test('connections leave a server whose machine has vanished without closing them', async () => {
  await using scope = new AsyncDisposableStack();
  const pair = await startPair(scope);
  const { redis, subscriber, redisCheck } = await connect(scope, pair);
  await subscribe(await subscriber(), 'channel', { onMessage: () => undefined, onGap: () => undefined });
  pair.forwarder.strand();
  await pair.promote();
  pair.moveAddress();
  await waitUntil('both connections to leave', () => pair.countLeft() === 0, WORKS_AGAIN_MS);
  await waitUntil('readiness', () => redisCheck() === true, WORKS_AGAIN_MS);
  await redis.set('written', 'after');
  expect(await pair.primary().get('written')).toBe('after');
});
