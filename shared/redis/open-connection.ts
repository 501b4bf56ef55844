import { Redis } from 'ioredis';
import type { Logger } from '#shared/telemetry/log.ts';
import { makeLogThrottle } from '#shared/telemetry/log-throttle.ts';
import type { RedisConfig } from '../config.ts';
import { isRefusedAsFull, watchMemory } from './watch-memory.ts';

const CONNECT_TIMEOUT_MS = 2_000;
const RECONNECT_MS_MAX = 1_000;
/** A server that has owed an answer for this long is gone: its machine vanished and cannot close
 * the connection. */
const SILENT_MS_MAX = 10_000;
const LOG_INTERVAL_MS = 1_000;
const FULL_LOG_INTERVAL_MS = 10_000;
/** Redis's word for a replica, in the answers to INFO and ROLE. */
const REPLICA = 'slave';

type Options = RedisConfig & {
  readonly purpose: string;
  readonly commandTimeoutMs?: number;
};

/**
 * Makes a client that reconnects for ever, and only to a primary.
 *
 * A failover may leave connections open: the old primary continues as a replica, which answers
 * reads and refuses writes. Such a connection ends by the first write that is refused, or by
 * `askRole`, which its owner calls again and again; a new one is not used if it leads to a replica.
 * A server that no longer answers at all is left too.
 */
export function openConnection(
  { url, readAgain, tls, keyPrefix, purpose, commandTimeoutMs }: Options,
  log: Pick<Logger, 'info' | 'warn'>,
) {
  const suppressedCount = makeLogThrottle(LOG_INTERVAL_MS);
  let [isAway, isReplica] = [false, false];
  const warn = (fields: object, message: string): void => {
    if (suppressedCount() === undefined) return;
    isAway = true;
    log.warn({ role: purpose, ...fields }, message);
  };
  /** False if the connection is being left already: many writes may be refused at once. */
  const foundReplica = (): boolean => {
    const isNews = !isReplica;
    isReplica = true;
    warn({}, 'Redis is a replica, which refuses writes: reconnecting until the primary answers');
    return isNews;
  };
  const logsFull = makeLogThrottle(FULL_LOG_INTERVAL_MS);
  const redis: Redis = new Redis(url, {
    lazyConnect: true,
    ...(tls ? { tls: { ...tls } } : {}),
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENT_MS_MAX,
    ...(commandTimeoutMs === undefined ? {} : { commandTimeout: commandTimeoutMs }),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy(times) {
      // ioredis takes the login from its options at every connect.
      if (readAgain) Object.assign(redis.options, loginOf(readAgain()));
      return Math.min(50 * 2 ** Math.min(times, 5), RECONNECT_MS_MAX);
    },
    reconnectOnError({ message }) {
      memory.note(message);
      if (isRefusedAsFull(message) && logsFull() !== undefined)
        log.warn({ role: purpose, redis: message, ...memory.memory() }, 'Redis is full: it refuses writes');
      return message.startsWith('READONLY') && foundReplica();
    },
  });
  const memory = watchMemory(redis);
  // ioredis asks its connector whether a server may be used, as it must for one that a Sentinel has
  // named.
  const connector: { check: (info: { readonly role?: string }) => boolean } = Reflect.get(redis, 'connector');
  connector.check = ({ role }) => {
    if (role === REPLICA) foundReplica();
    return role !== REPLICA;
  };
  redis.on('error', (error) => {
    // The code alone: the message of a failed login may repeat the command.
    warn({ code: (error as NodeJS.ErrnoException).code ?? 'error' }, 'Redis connection failed');
  });
  redis.on('ready', () => {
    if (isAway) log.info({ role: purpose }, 'Redis connection is back');
    isAway = false;
    isReplica = false;
  });
  return {
    redis,
    memory,
    /**
     * Asks the server whether it is still the primary, and leaves it if not.
     *
     * @throws if it does not answer
     */
    async askRole(): Promise<void> {
      // An ACL may forbid ROLE.
      const [role] = await redis.role().catch(async () => [await redis.ping()]);
      if (role === REPLICA && foundReplica()) redis.disconnect(true);
    },
    /** True while it is connected to a primary that takes writes, otherwise the fault. */
    check(): true | string {
      if (isReplica) return 'Redis is a replica';
      if (redis.status !== 'ready') return 'Redis is unreachable';
      return !memory.isFull() || 'full';
    },
  };
}

/** Nothing of a text that is no URL: the login stays as it was. */
function loginOf(url: string): { username?: string; password?: string } {
  const parsed = URL.parse(url);
  if (!parsed) return {};
  const { username, password } = parsed;
  return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
}
