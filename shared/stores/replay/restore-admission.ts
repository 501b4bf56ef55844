import { DAY_MS } from '#shared/contracts/durations.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { claimKey, monthCounterKey, refundsKey } from '../checks/admit.ts';
import { type AppHour, usageKey } from '../usage/usage.ts';
import { LUA_NOTE_ACTIVE, USAGE_KEPT_MS } from '../usage/usage-days.ts';

/** How long a claim of an idempotency key is kept. */
const CLAIM_KEPT_MS = DAY_MS;
/** A month's counter is kept that long after the month. */
const COUNTER_KEPT_MS = 40 * DAY_MS;

/**
 * KEYS: claim. ARGV: body hash, accepted at, id, month, when the claim ends, state.
 * The check's id replaces its seed. Of two checks of a key the later one holds the claim, in
 * whatever order they are read: a key gets another check only once its claim was spent. Of the
 * parts of one batch, only the last shows that it was published.
 */
const RESTORE_CLAIM = `${REQUIRE_VIEW}
local at = tonumber(redis.call('HGET', KEYS[1], 'at') or '0')
if at >= tonumber(ARGV[2]) then
  if ARGV[6] == 'published' and redis.call('HGET', KEYS[1], 'id') == ARGV[3] then
    redis.call('HSET', KEYS[1], 'state', ARGV[6])
  end
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'body', ARGV[1], 'at', ARGV[2], 'seed', ARGV[3], 'id', ARGV[3], 'month', ARGV[4],
  'state', ARGV[6], 'touched', ARGV[2])
redis.call('PEXPIREAT', KEYS[1], ARGV[5])
return 1
`;

/**
 * KEYS: the month's counter, its refunds. ARGV: counter, when both end, refunds. A
 * counter is never lowered: it is higher where checks were charged whose records are not in the
 * topics yet.
 */
const RESTORE_COUNTER = `${REQUIRE_VIEW}
local charged = math.max(tonumber(ARGV[1]), tonumber(redis.call('GET', KEYS[1]) or '0'))
redis.call('SET', KEYS[1], string.format('%.0f', charged), 'PXAT', ARGV[2])
redis.call('SET', KEYS[2], ARGV[3], 'PXAT', ARGV[2])
return 1
`;

/** KEYS: usage of the hour. */
const READ_ADMITTED = `${REQUIRE_VIEW}
return redis.call('HGET', KEYS[1], 'last') or ''
`;

/**
 * KEYS: usage of the hour, the month's counter. ARGV: `last` as it was, `last` as
 * it is to be, how many, the hour, when the counter ends, the client app. Done once: `last` tells.
 */
const ADD_CHARGES = `${REQUIRE_VIEW}${LUA_NOTE_ACTIVE}
if (redis.call('HGET', KEYS[1], 'last') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'last', ARGV[2])
redis.call('HINCRBY', KEYS[1], 'accepted', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ${USAGE_KEPT_MS})
noteActive(ARGV[6], ARGV[4])
redis.call('INCRBY', KEYS[2], ARGV[3])
redis.call('PEXPIREAT', KEYS[2], ARGV[5])
return 1
`;

export type RestoredClaim = {
  readonly clientId: string;
  readonly keyHash: string;
  readonly bodyHash: string;
  readonly requestId: string;
  readonly acceptedAtMs: number;
  readonly month: string | undefined;
  /** Whether all of it is in its topic: a batch whose gateway ended too early is published by the
   * retry. */
  readonly isPublished: boolean;
};

/** A millisecond, and how many checks were accepted in it. */
export type AdmittedAt = { readonly ms: number; readonly count: number };

export type LostCharges = AppHour & {
  readonly month: string;
  readonly count: number;
  readonly before: AdmittedAt | undefined;
  readonly last: AdmittedAt;
};

/** The counter of a month, and how many refunds it is without. */
export type MonthCharges = {
  readonly clientId: string;
  readonly month: string;
  readonly count: number;
  readonly refunds: number;
};

export function makeRestoreAdmission(redis: Redis) {
  const restoreClaim = makeScript<number>(redis, RESTORE_CLAIM);
  const readAdmitted = makeScript<string>(redis, READ_ADMITTED);
  const addCharges = makeScript<number>(redis, ADD_CHARGES);
  const restoreCounter = makeScript<number>(redis, RESTORE_COUNTER);
  return {
    /** Nothing is done for a claim that would have expired by `nowMs`. */
    async claim(claim: RestoredClaim, nowMs: number): Promise<void> {
      const { clientId, keyHash, bodyHash, requestId, acceptedAtMs, month = '', isPublished } = claim;
      const state = isPublished ? 'published' : 'claimed';
      const endsAtMs = acceptedAtMs + CLAIM_KEPT_MS;
      if (endsAtMs <= nowMs) return;
      const keys = [claimKey(clientId, keyHash)];
      await restoreClaim(keys, [bodyHash, acceptedAtMs, requestId, month, endsAtMs, state]);
    },
    /** The last millisecond in which the app's checks of an hour were counted; undefined if none
     * was. */
    async lastAdmitted({ clientId, hour }: AppHour): Promise<AdmittedAt | undefined> {
      const stored = await readAdmitted([usageKey(clientId, hour)], []);
      const [ms, count] = stored.split(':').map(Number);
      return ms === undefined || count === undefined ? undefined : { ms, count };
    },
    /** Adds charges behind `before`, once. */
    async addCharges({ clientId, hour, month, count, before, last }: LostCharges): Promise<void> {
      const keys = [usageKey(clientId, hour), monthCounterKey(clientId, month)];
      const lasts = [before ? textOf(before) : '', textOf(last)];
      await addCharges(keys, [...lasts, count, hour, counterEndsAt(month), clientId]);
    },
    /** Raises the month's counter to `count`; a higher one stays. */
    async counter({ clientId, month, count, refunds }: MonthCharges): Promise<void> {
      const counter = monthCounterKey(clientId, month);
      const keys = [counter, refundsKey(counter)];
      await restoreCounter(keys, [count, counterEndsAt(month), refunds]);
    },
  };
}

/** Restores the counters and claims of admission, for a rebuild. */
export type RestoreAdmission = ReturnType<typeof makeRestoreAdmission>;

const textOf = ({ ms, count }: AdmittedAt): string => `${ms}:${count}`;

function counterEndsAt(month: string): number {
  const [year = 1970, number = 1] = month.split('-').map(Number);
  return Date.UTC(year, number) + COUNTER_KEPT_MS;
}
