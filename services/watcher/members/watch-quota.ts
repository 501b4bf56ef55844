import { DAY_MS, HOUR_MS } from '#shared/contracts/durations.ts';
import { RETENTION_DAYS } from '#shared/contracts/retention.ts';
import { SHARE_TOLERANCE } from '#shared/contracts/watches/watch.ts';
import { LUA_REFUND } from '#shared/fairness/throttle.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { LUA_NOW } from '#shared/redis/fence.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { monthCounterKey, watchShareKey } from '#shared/stores/checks/admit.ts';
import { LUA_ACCOUNT_BYTES, LUA_NOTE_ACTIVE } from '#shared/stores/usage/usage-days.ts';

const KEPT_MS = 40 * 86_400_000;
/** Longer than the topic keeps a record, mostly: it may be handled again. */
const REFUNDED_KEPT_MS = (RETENTION_DAYS.checks.default + 1) * DAY_MS;

/**
 * KEYS: the month's counter, the share of the watches. ARGV: client app, checks,
 * limit of the month, share of it, 1 if the checks were evaluated (then the rest is charged where
 * it is too little), the account. Checked and charged in one step.
 */
const CHARGE = `${REQUIRE_VIEW}${LUA_NOW}${LUA_NOTE_ACTIVE}${LUA_ACCOUNT_BYTES}
local count, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
if ARGV[5] ~= '1' then
  local kept, keptMax = accountBytes(ARGV[6], limit, math.floor(now / ${DAY_MS}))
  if kept >= keptMax then return 3 end
end
if count == 0 then return 0 end
local left = limit - tonumber(redis.call('GET', KEYS[1]) or '0')
local leftOfShare = math.floor(limit * tonumber(ARGV[4]) + ${SHARE_TOLERANCE} - tonumber(redis.call('GET', KEYS[2]) or '0'))
local outcome = count > left and 1 or count > leftOfShare and 2 or 0
if outcome > 0 then
  if ARGV[5] ~= '1' then return outcome end
  count = math.min(left, leftOfShare)
  if count <= 0 then return outcome end
end
redis.call('INCRBY', KEYS[1], count)
redis.call('INCRBY', KEYS[2], count)
redis.call('PEXPIRE', KEYS[1], ${KEPT_MS})
redis.call('PEXPIRE', KEYS[2], ${KEPT_MS})
noteActive(ARGV[1], math.floor(now / ${HOUR_MS}))
return outcome
`;

/** KEYS: the month's counter, the share of the watches, mark of the part. ARGV: client app,
 * checks. Once for a part. */
const REFUND = `${REQUIRE_VIEW}${LUA_NOW}${LUA_NOTE_ACTIVE}${LUA_REFUND}
if not redis.call('SET', KEYS[3], '1', 'NX', 'PX', ${REFUNDED_KEPT_MS}) then return 0 end
for i = 1, 2 do refundTo(KEYS[i], tonumber(ARGV[2])) end
noteActive(ARGV[1], math.floor(now / ${HOUR_MS}))
return 1
`;

const OUTCOMES = ['charged', 'quota-exceeded', 'quota-share-exceeded', 'bytes-per-day'] as const;

export type Charge = {
  readonly clientId: string;
  readonly accountId: string;
  readonly count: number;
  readonly month: string;
  readonly requestsPerMonth: number;
  readonly quotaShare: number;
  /** The checks were already evaluated, so as many as the quota still allows are charged. */
  readonly areEvaluated?: boolean;
};

export function makeWatchQuota(redis: Redis) {
  const charge = makeScript<number>(redis, CHARGE);
  const refund = makeScript<number>(redis, REFUND);
  const keysOf = (clientId: string, month: string) => {
    const counter = monthCounterKey(clientId, month);
    return [counter, watchShareKey(counter)];
  };
  return {
    /** Charges checks. If less is left, nothing is charged. Refused with `bytes-per-day`, also where
     * none is to be charged, if the account has used its bytes of the day. */
    async charge({ areEvaluated = false, ...asked }: Charge): Promise<(typeof OUTCOMES)[number]> {
      const { clientId, accountId, count, month, requestsPerMonth, quotaShare } = asked;
      const rest = areEvaluated ? 1 : 0;
      const args = [clientId, count, requestsPerMonth, quotaShare, rest, accountId];
      return OUTCOMES[await charge(keysOf(clientId, month), args)] ?? 'charged';
    },
    /** Refunds checks of a part that nothing was decided of, once for each part. */
    async refund({
      clientId,
      month,
      count,
      requestId,
    }: Pick<Charge, 'clientId' | 'month' | 'count'> & { readonly requestId: string }): Promise<void> {
      const keys = [...keysOf(clientId, month), `wm-refunded:${requestId}`];
      await refund(keys, [clientId, count]);
    },
  };
}
