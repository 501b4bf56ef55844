import type { Redis } from 'ioredis';
import { startReachCheck } from '#shared/check-reach.ts';
import { describeError, ServiceError } from '#shared/errors.ts';
import { startRepeating } from '#shared/repeat.ts';
import type { ServiceContext } from '#shared/service-context.ts';
import { watchRedisMemory } from '#shared/telemetry/metrics.ts';
import { waitFor } from '#shared/wait-for.ts';
import type { RedisConfig } from '../config.ts';
import { fenceEachConnection } from './fence.ts';
import { openConnection } from './open-connection.ts';
import { startPauseTolerantTimeout } from './pause-tolerant-timeout.ts';
import { isRefusedAsFull } from './watch-memory.ts';

export type { Redis };

/** A command that takes longer has failed, so no caller hangs while Redis is away. */
export const COMMAND_TIMEOUT_MS = 400;
/** The same for commands with many round trips or large answers. The client itself fails a single
 * command then, also one without a caller, such as the first of a connection. */
export const LISTING_TIMEOUT_MS = 2_000;
/** The same for scripts of a replay, while they wait for their turn: nobody waits for one of its
 * calls, and thousands are made at once. */
export const REPLAY_TIMEOUT_MS = 30_000;
const ASK_ROLE_INTERVAL_MS = 2_000;

export type RedisConnection = Awaited<ReturnType<typeof connectRedis>>;

type Options = RedisConfig & { readonly dependencyWaitMs: number };
type Context = Pick<ServiceContext, 'log' | 'metrics' | 'readiness' | 'stopping'>;

/**
 * Connects to the primary: waits for it at the start, and then reconnects without a limit.
 *
 * While it is away commands fail at once (nothing is queued), so a caller can answer or hold.
 *
 * @throws ServiceError `store-unavailable` if Redis cannot be reached in time, `config-invalid` if
 *   it is a Redis Cluster
 */
export async function connectRedis(options: Options, context: Context) {
  await using scope = new AsyncDisposableStack();
  const open = (purpose: string, commandTimeoutMs?: number) =>
    openConnection({ ...options, purpose, ...(commandTimeoutMs && { commandTimeoutMs }) }, context.log);
  const reach = (redis: Redis) =>
    waitFor('Redis', 'store-unavailable', () => connectOnce(redis), options.dependencyWaitMs, context);
  const { redis, askRole, memory, check } = open('commands', LISTING_TIMEOUT_MS);
  // Otherwise it would retry without a caller.
  scope.defer(() => redis.disconnect());
  fenceEachConnection(redis, (error) => {
    const { message } = describeError(error);
    context.log.warn({ message }, 'Redis INFO failed: reconnecting');
  });
  // Known from the start on, so that an alert sees processes that wait for Redis.
  context.readiness.add('redis', () => 'Redis has not answered yet');
  await reach(redis);
  await refuseCluster(redis, context);
  await warnOfEviction(redis, context);
  await memory.ask();
  watchRedisMemory(context.metrics, memory.memory);
  const watch = scope.use(startReachCheck('Redis', () => Promise.all([askRole(), memory.ask()])));
  context.readiness.add('redis', () => {
    const answer = check();
    return answer === true ? watch.check() : answer;
  });
  const whole = scope.move();
  return {
    redis,
    /** A connection of its own for subscriptions, which resubscribes after a reconnect. */
    async subscriber(): Promise<Redis> {
      const subscriber = open('subscriptions');
      whole.defer(() => subscriber.redis.disconnect());
      await reach(subscriber.redis);
      whole.use(startRepeating(subscriber.askRole, { intervalMs: ASK_ROLE_INTERVAL_MS }));
      return subscriber.redis;
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

/** ioredis retries by itself after a failed first attempt; then this only waits for the
 * connection. */
async function connectOnce(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  if (redis.status === 'wait' || redis.status === 'end') await redis.connect();
  else throw new ServiceError('store-unavailable', `Redis is ${redis.status}`);
}

/** A script touches keys of several slots, so a cluster would refuse most of them, one request
 * after another. */
async function refuseCluster(redis: Redis, { log }: Pick<Context, 'log'>): Promise<void> {
  const cluster = await redis.info('cluster').catch((error: unknown) => {
    log.warn({ error: describeError(error) }, 'Redis refuses INFO, so a failover is detected late');
    return '';
  });
  if (/cluster_enabled:1/.test(cluster))
    throw new ServiceError(
      'config-invalid',
      'REDIS_URL names a Redis Cluster, which is not supported: use one primary, with replicas',
    );
}

/** A Redis that evicts keys when its memory is full would lose results of accepted checks. */
async function warnOfEviction(redis: Redis, { log }: Pick<Context, 'log'>): Promise<void> {
  // An ACL may forbid the question.
  const memory = await redis.info('memory').catch(() => '');
  const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1] ?? 'noeviction';
  if (policy !== 'noeviction')
    log.warn({ 'maxmemory-policy': policy }, 'Redis must have the policy noeviction');
}

/**
 * Runs Redis commands, turning every failure of theirs into one of the store's errors.
 *
 * Ends within `boundMs`; a command that failed so may still be executed.
 *
 * @throws ServiceError `view-rebuilding` where a script found no generation marker, else
 *   `store-unavailable`
 */
export async function inStore<T>(work: () => Promise<T>, boundMs = COMMAND_TIMEOUT_MS): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timeout = startPauseTolerantTimeout(boundMs, () => reject(answerMissing()));
  try {
    return await Promise.race([work(), late]);
  } catch (error) {
    throw storeErrorOf(error);
  } finally {
    timeout.clear();
  }
}

export const answerMissing = (): ServiceError =>
  new ServiceError('store-unavailable', 'Redis did not answer in time');

/** The `store-unavailable` error for an error of Redis or its client. */
export function storeErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (describeError(error).message.includes('VIEW_REBUILDING'))
    return new ServiceError('view-rebuilding', 'the views are being rebuilt', { cause: error });
  if (error instanceof Error && isRefusedAsFull(error.message))
    return new ServiceError('store-unavailable', `Redis is full: ${error.message}`, { cause: error });
  return new ServiceError('store-unavailable', 'Redis rejected the command', { cause: error });
}
