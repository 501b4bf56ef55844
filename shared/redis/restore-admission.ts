import { claimKey, monthCounterKey } from './admit.ts';
import type { Redis } from './connect.ts';
import { makeScript } from './script.ts';
import { GENERATION_KEY, REQUIRE_VIEW, type ViewAccess } from './view.ts';

/** How long a claim of an idempotency key is kept. */
const CLAIM_KEPT_MS = 86_400_000;
/** A month's counter is kept that long after the month. */
const COUNTER_KEPT_MS = 40 * 86_400_000;

/**
 * KEYS: marker, claim. The check's id stands for its seed. Of two checks of a key the later one holds the claim, in
 * whatever order they are read: a key gets another check only once its claim was spent.
 */
const RESTORE_CLAIM = `${REQUIRE_VIEW}
if tonumber(redis.call('HGET', KEYS[2], 'at') or '0') >= tonumber(ARGV[3]) then return 0 end
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[2], 'body', ARGV[2], 'at', ARGV[3], 'seed', ARGV[4], 'id', ARGV[4], 'month', ARGV[5],
  'state', 'published', 'touched', ARGV[3])
redis.call('PEXPIREAT', KEYS[2], ARGV[6])
return 1
`;

/** KEYS: marker, the month's counter. */
const RESTORE_COUNTER = `${REQUIRE_VIEW}
redis.call('SET', KEYS[2], ARGV[2], 'PXAT', ARGV[3])
return 1
`;

export type RestoredClaim = {
  readonly clientId: string;
  readonly keyHash: string;
  readonly bodyHash: string;
  readonly requestId: string;
  readonly acceptedAtMs: number;
  readonly month: string | undefined;
};

/** Puts back what admission keeps, for a rebuilder. */
export type RestoreAdmission = {
  /** Nothing is done for a claim that would have expired by `nowMs`. */
  readonly claim: (claim: RestoredClaim, nowMs: number, access: ViewAccess) => Promise<void>;
  readonly counter: (clientId: string, month: string, count: number, access: ViewAccess) => Promise<void>;
};

export function makeRestoreAdmission(redis: Redis): RestoreAdmission {
  const restoreClaim = makeScript<number>(redis, 'restoreClaim', RESTORE_CLAIM);
  const restoreCounter = makeScript<number>(redis, 'restoreCounter', RESTORE_COUNTER);
  return {
    async claim({ clientId, keyHash, bodyHash, requestId, acceptedAtMs, month }, nowMs, access) {
      const endsAtMs = acceptedAtMs + CLAIM_KEPT_MS;
      if (endsAtMs <= nowMs) return;
      const keys = [GENERATION_KEY, claimKey(clientId, keyHash)];
      await restoreClaim(keys, [access, bodyHash, acceptedAtMs, requestId, month ?? '', endsAtMs]);
    },
    async counter(clientId, month, count, access) {
      const [year = 1970, number = 1] = month.split('-').map(Number);
      const endsAtMs = Date.UTC(year, number) + COUNTER_KEPT_MS;
      await restoreCounter([GENERATION_KEY, monthCounterKey(clientId, month)], [access, count, endsAtMs]);
    },
  };
}
