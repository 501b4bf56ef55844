import { monthCounterKey } from './admit.ts';
import type { Redis } from './connect.ts';
import { makeScript } from './script.ts';
import { EVERYDAY, GENERATION_KEY, REQUIRE_VIEW } from './view.ts';

const KEPT_MS = 40 * 86_400_000;

/**
 * KEYS: marker, the month's counter, the share of the watches. ARGV: access, checks, limit of the month, share of it.
 * Checked and charged in one step.
 */
const CHARGE = `${REQUIRE_VIEW}
local count, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
if tonumber(redis.call('GET', KEYS[2]) or '0') + count > limit then return 1 end
if tonumber(redis.call('GET', KEYS[3]) or '0') + count > limit * tonumber(ARGV[4]) then return 2 end
redis.call('INCRBY', KEYS[2], count)
redis.call('INCRBY', KEYS[3], count)
redis.call('PEXPIRE', KEYS[2], ${KEPT_MS})
redis.call('PEXPIRE', KEYS[3], ${KEPT_MS})
return 0
`;

const OUTCOMES = ['charged', 'quota-exceeded', 'quota-share-exceeded'] as const;

/** Charges the checks of watches to the quota of their app's month, up to the share that watches may use. */
export type ChargeWatch = (charge: {
  readonly clientId: string;
  readonly count: number;
  readonly month: string;
  readonly requestsPerMonth: number;
  readonly quotaShare: number;
}) => Promise<(typeof OUTCOMES)[number]>;

export function makeChargeWatch(redis: Redis): ChargeWatch {
  const charge = makeScript<number>(redis, 'chargeWatch', CHARGE);
  return async function chargeWatch({ clientId, count, month, requestsPerMonth, quotaShare }) {
    const counter = monthCounterKey(clientId, month);
    const keys = [GENERATION_KEY, counter, `${counter}:watches`];
    return OUTCOMES[await charge(keys, [EVERYDAY, count, requestsPerMonth, quotaShare])] ?? 'charged';
  };
}
