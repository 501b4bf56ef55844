import { DAY_MS, HOUR_MS, monthEndsAt } from '#shared/contracts/durations.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { LUA_NOW } from '#shared/redis/fence.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { claimKey, monthCounterKey, watchShareKey } from '../checks/admit.ts';
import { LUA_NOTE_ACTIVE } from '../usage/usage-days.ts';

const CLAIM_KEPT_MS = DAY_MS;
/** A month's counter is kept that long after the month. */
const COUNTER_KEPT_MS = 40 * DAY_MS;

/**
 * KEYS: claim. ARGV: body hash, accepted at, id, month, when the claim ends, state. The check's id
 * replaces its seed. Of two checks of a key the later one holds the claim, in whatever order they are
 * read: a key gets another check only once its claim was spent. Of the parts of one batch, only the
 * last shows that it was published.
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
 * KEYS: the month's counter, the watches' share of it. ARGV: when they end, both counts, the client
 * app, '1' where its total is to be published. A counter is never lowered: it is higher where checks
 * were charged whose records are not in the topics yet.
 */
const RAISE_COUNTER = `${REQUIRE_VIEW}${LUA_NOW}${LUA_NOTE_ACTIVE}
for i = 1, 2 do
  local count = math.max(tonumber(ARGV[i + 1]), tonumber(redis.call('GET', KEYS[i]) or '0'))
  if count > 0 then redis.call('SET', KEYS[i], string.format('%.0f', count), 'PXAT', ARGV[1]) end
end
if ARGV[5] == '1' then noteActive(ARGV[4], math.floor(now / ${HOUR_MS})) end
return 1
`;

/** The counter of a month: its newest total, the charges since, and how much the watches have. */
type MonthCharges = {
  readonly clientId: string;
  readonly month: string;
  readonly total: number;
  readonly since: number;
  readonly ofWatches: number;
};

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

export function makeRestoreAdmission(redis: Redis) {
  const restoreClaim = makeScript<number>(redis, RESTORE_CLAIM);
  const raiseCounter = makeScript<number>(redis, RAISE_COUNTER);
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
    /** Raises a month's counter, and the watches' share of it; higher ones stay. */
    async raiseCounter({ clientId, month, total, since, ofWatches }: MonthCharges): Promise<void> {
      const counter = monthCounterKey(clientId, month);
      const counts = [total + since, ofWatches, clientId, since > 0 ? '1' : ''];
      await raiseCounter(
        [counter, watchShareKey(counter)],
        [monthEndsAt(month) + COUNTER_KEPT_MS, ...counts],
      );
    },
  };
}
