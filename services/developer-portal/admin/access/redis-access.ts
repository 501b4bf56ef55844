import type { Service } from './kafka-access.ts';

type RedisAccess = {
  /** Patterns of the keys that it uses. */
  readonly keys: readonly string[];
  /** Patterns of the channels that it publishes to and subscribes to. */
  readonly channels: readonly string[];
};

/** What every service uses: whether the views are complete and whose they are, and the bytes of the
 * day that its records count towards. */
export const SHARED_KEYS: readonly string[] = [
  ...['view:*', 'nonces-not-before', 'system:*', 'client-apps:summaries', 'accounts:summaries'],
  ...['account-bytes:*', 'approved-apps:*', 'usage-day:*', 'usage:apps:*'],
];

const DOCUMENT_CHANNELS = ['account:changed', 'client-app:changed', 'rule-set:changed', 'watch:changed'];
const REPLIES = 'results:*';

/** Leases of versions: of the documents that a service writes. */
const leases = (...views: readonly string[]): string[] =>
  views.flatMap((view) => [`lease:${view}:*`, `leased:${view}:*`]);

export const REDIS_ACCESS: Readonly<Record<Service, RedisAccess>> = {
  gateway: {
    keys: [
      ...['client-apps', 'client-apps:*', 'key-use:*', 'rate:*', 'quota:*', 'claim:*', 'nonce:*'],
      ...['check-log:*', 'usage-hour:*', 'usage:*', 'result:*', 'wanted:*', 'batch*', 'places:*'],
      ...['rule-set*', 'watches*', 'wm*', 'wallet*', 'lock:wm:*', 'followed*', 'following:*', 'logs:*'],
      ...['chain-state:*', 'webhook*', 'throttle*', 'audit:*', ...leases('rule-sets:1', 'watches')],
    ],
    channels: [REPLIES, ...DOCUMENT_CHANNELS],
  },
  evaluator: {
    keys: [
      ...['result:*', 'wanted:*', 'saved:*', 'check-log:*', 'quota:*', 'usage-hour:*'],
      ...['chain-state:*', 'chain-reports', 'logs:*', 'followed*', 'following:*', 'wallet*'],
    ],
    channels: [REPLIES],
  },
  'result-store': {
    keys: [
      ...['accounts*', 'client-apps*', 'member-apps:*', 'key-use:*', 'places:*', 'audit:*'],
      ...['rule-set*', 'watches*', 'wm*', 'wallet*', 'followed*', 'following:*', 'lock:wm:*', 'rate:*'],
      ...['result:*', 'wanted:*', 'saved:*', 'check-log:*', 'quota:*', 'claim:*'],
      ...['nonce:*', 'usage*', 'batch*', 'webhook*', 'logs:*'],
      ...leases('accounts', 'client-apps', 'rule-sets:1', 'watches'),
    ],
    channels: [REPLIES, ...DOCUMENT_CHANNELS],
  },
  watcher: {
    keys: [
      ...['accounts*', 'client-apps*', 'rule-set*', 'watches*', 'wm*', 'followed*', 'following:*', 'logs:*'],
      ...['quota:*', 'usage-hour:*', 'watch-parts:*', 'wallet*', 'places:*', 'throttle*', 'lock:wm:*'],
      ...leases('watches'),
    ],
    channels: ['rule-set:changed', 'watch:changed'],
  },
  'webhook-dispatcher': {
    keys: [
      ...['client-apps', 'client-apps:*', 'webhook*', 'result:*', 'wanted:*', 'saved:*'],
      ...['check-log:*', 'quota:*', 'usage-hour:*'],
    ],
    channels: [REPLIES, 'client-app:changed'],
  },
  'developer-portal': {
    keys: [
      ...['accounts*', 'client-apps*', 'member-apps:*', 'key-use:*', 'places:*', 'audit:*', 'notices:*'],
      ...['sessions:*', 'reset-link:*', 'two-factor-*', 'once:*', 'throttle*', 'chain-*'],
      ...['rule-set*', 'watches*', 'wm*', 'wallet*', 'lock:wm:*', 'followed*', 'following:*', 'logs:*'],
      ...['result:*', 'check-log:*', 'quota:*', 'usage*', 'batch*', 'webhook*'],
      ...leases('accounts', 'client-apps', 'rule-sets:1', 'watches'),
    ],
    channels: DOCUMENT_CHANNELS,
  },
};

/** The commands of all services: scripts are shared, so a service has hardly one of its own. */
export const REDIS_COMMANDS = [
  ...['eval', 'evalsha', 'info', 'ping', 'role', 'time', 'select', 'subscribe', 'publish'],
  ...['del', 'exists', 'pexpire', 'pexpireat', 'pttl', 'unlink'],
  ...['decrby', 'get', 'getrange', 'incrby', 'mget', 'set', 'setrange', 'strlen'],
  ...['hdel', 'hexists', 'hget', 'hgetall', 'hincrby', 'hkeys', 'hlen', 'hmget', 'hscan', 'hset', 'hsetnx'],
  ...['lindex', 'lpop', 'lpush', 'lrange', 'lset', 'ltrim', 'rpush'],
  ...['sadd', 'smembers', 'srem'],
  ...['zadd', 'zcard', 'zcount', 'zrange', 'zrangebylex', 'zrangebyscore', 'zrem'],
  ...['zremrangebyrank', 'zremrangebyscore', 'zrevrange', 'zrevrangebyscore', 'zrevrank', 'zscore'],
] as const;

/**
 * The least that Redis must allow a service, as ACL rules. Keys are allowed for reading and writing
 * at once, because Redis cannot tell which of the two a script does.
 *
 * @param prefix of the system's keys and channels: `staging:`, or empty
 */
export function redisRulesOf(service: Service, prefix: string): string[] {
  const { keys, channels } = REDIS_ACCESS[service];
  // The empty name stands for a key that a script does not need.
  return [
    ...['resetkeys', ...['', ...SHARED_KEYS, ...keys].map((pattern) => `~${prefix}${pattern}`)],
    ...['resetchannels', ...channels.map((pattern) => `&${prefix}${pattern}`)],
    ...['-@all', ...REDIS_COMMANDS.map((name) => `+${name}`)],
  ];
}

/** Those of the `admin` command: all keys and channels of the system. */
export const adminRules = (prefix: string): string[] => [
  `~${prefix}*`,
  `&${prefix}*`,
  '-@all',
  ...REDIS_COMMANDS.map((name) => `+${name}`),
];
