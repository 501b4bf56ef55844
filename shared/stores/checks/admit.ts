import { ServiceError } from '#shared/errors.ts';
import { batchCalls } from '#shared/redis/batch-calls.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import { GENERATION_KEY, ORDINARY_ACCESS } from '#shared/redis/view.ts';
import { ADMIT_LUA, DROP_CLAIM_LUA, MARK_PUBLISHED_LUA, RELEASE_LUA } from './admit-script.ts';

/** The counter of checks that an app's quota was charged for in a calendar month (UTC, `2026-11`). */
export const monthCounterKey = (clientId: string, month: string): string => `quota:{${clientId}}:${month}`;

/** How many checks of the month their results have refunded: a rebuild works the counter out from both. */
export const refundsKey = (monthCounter: string): string => `${monthCounter}:refunds`;

/** `refundMonth(counter, count)` refunds checks to a month's counter, at most what was charged; nothing if `counter` is ''. */
export const LUA_REFUND_MONTH = `
local function refundMonth(counter, count)
  if counter == '' then return end
  count = math.min(count, tonumber(redis.call('GET', counter) or '0'))
  if count <= 0 then return end
  redis.call('DECRBY', counter, count)
  redis.call('INCRBY', counter .. ':refunds', count)
  local keptMs = redis.call('PTTL', counter)
  if keptMs > 0 then redis.call('PEXPIRE', counter .. ':refunds', keptMs) end
end
`;

/** The used part of an app's quota in a month. */
export const readMonthUsed = (redis: Redis, clientId: string, month: string): Promise<number> =>
  inStore(async () => Number((await redis.get(monthCounterKey(clientId, month))) ?? 0));

/** The claim of an idempotency key, given by its SHA-256. */
export const claimKey = (clientId: string, keyHash: string): string => `claim:{${clientId}}:${keyHash}`;

/** The log of an app's requests. */
export const logKey = (clientId: string, bucket: Bucket): string => `rate:{${clientId}}:${bucket}`;

/** How many poll requests a second an app may send for each check a second. */
const POLL_FACTOR = 5;
/** A clock read before the script may be behind Redis's by a little: which months are offered allows for it. */
const MONTH_EDGE_MS = 60_000;
/** Admissions in one call: as long as it takes, Redis does nothing else (about 20 µs for each). */
const ADMISSIONS_MAX = 256;

/** POST of a check, or any authenticated GET: each has a log of its own. */
export type Bucket = 'per-second' | 'per-second-poll';

export type AdmitRequest = {
  readonly clientId: string;
  readonly accountId: string;
  readonly limits: { readonly requestsPerSecond: number; readonly requestsPerMonth: number };
  readonly bucket: Bucket;
  /** Whether this request's place in the window was paid already: set when the same request asks again. */
  readonly isPaid?: boolean;
  /** A valid check. Without it only the rate counts. */
  readonly check?: {
    /** The seed of the id; stored with a claim, so that a replay gets the same id. */
    readonly seed: string;
    /** Bytes of the record to be written, which count towards the account's day. Default 0: they count when it is written. */
    readonly bytes?: number;
    /** Checks of the month's quota that it costs: all are charged, or none. Default 1. */
    readonly cost?: number;
    /** Of a batch, the account of the app: the entries count as unfinished until they are stored. */
    readonly batchOf?: string;
    /** Whether the request is refused unless an earlier request has claimed its key. Default false. */
    readonly isReplayOnly?: boolean;
    readonly claim?: {
      /** SHA-256, hex. */
      readonly keyHash: string;
      readonly bodyHash: string;
      /** Seed of the claim that is spent and may be replaced. */
      readonly replaces?: string;
    };
  };
};

/** A limit after this request. */
export type LimitFigures = {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
};

export type Claim = {
  /** When the check was admitted, epoch ms of Redis's clock: the time in its id. */
  readonly atMs: number;
  readonly seed: string;
  /** Known once the check was published. */
  readonly requestId: string | undefined;
  readonly month: string | undefined;
};

/**
 * The decision on a request.
 *
 * | outcome | meaning | in the log | charged |
 * |---|---|---|---|
 * | `rate-limited`, `quota-exceeded` | refused | no | no |
 * | `bytes-exceeded` | refused: the account has made the system keep what it may today | yes | no |
 * | `lane-full` | refused: account or app has used its share of unfinished entries of batches | yes | no |
 * | `counted` | no valid check, only the rate was taken; of `isReplayOnly`: there is nothing to replay | yes | no |
 * | `fresh` | a new check | yes | yes |
 * | `taken-over` | claimed ≥ 5 s ago and never marked published: to be published again, as it was | yes | was |
 * | `claimed` | another request holds the claim and has not published yet | yes | no |
 * | `published` | a replay | yes | no |
 * | `key-reused` | the key belongs to another body | yes | no |
 */
export const ADMIT_OUTCOMES = [
  'rate-limited',
  'quota-exceeded',
  'bytes-exceeded',
  'lane-full',
  'counted',
  'fresh',
  'taken-over',
  'claimed',
  'published',
  'key-reused',
] as const;
export type AdmitOutcome = (typeof ADMIT_OUTCOMES)[number];

export type Admission = {
  readonly outcome: AdmitOutcome;
  /** Epoch ms of Redis's clock. */
  readonly nowMs: number;
  readonly second: LimitFigures;
  /** For the check bucket alone. */
  readonly month: (LimitFigures & { readonly name: string }) | undefined;
  /** The claim that was found: for the last four outcomes. */
  readonly claim: Claim | undefined;
};

export type Admitter = {
  /** One round trip, shared by concurrent callers: rate, quota and idempotency claim. Throws ServiceError `store-unavailable`, `view-rebuilding`. */
  readonly admit: (request: AdmitRequest) => Promise<Admission>;
  /** Says that the broker has the check, so that a replay is answered at once. */
  readonly markPublished: (claim: ClaimRef & { readonly requestId: string }) => Promise<void>;
  /**
   * Drops the claim of a check that was surely not published. False if a retry has taken the claim over, or may have because
   * Redis has lost the claim: it may have published the check, which keeps its charge then.
   */
  readonly dropClaim: (claim: ClaimRef) => Promise<boolean>;
  /** Refunds a charge. */
  readonly release: (charge: Charge) => Promise<void>;
};

export type Charge = {
  readonly clientId: string;
  readonly month: string;
  /** Checks that were charged. Default 1. */
  readonly count?: number;
};

export type ClaimRef = { readonly clientId: string; readonly keyHash: string; readonly seed: string };

/**
 * @param now Redis's clock as this process knows it; it only chooses which two months are offered to the script.
 * @example
 * const { admit } = makeAdmitter(redis, clock.now);
 * const { outcome } = await admit({ clientId, limits, bucket: 'per-second', check: { seed } });
 */
export function makeAdmitter(redis: Redis, now: () => number): Admitter {
  const run = makeScript<string[]>(redis, ADMIT_LUA);
  const mark = makeScript<number>(redis, MARK_PUBLISHED_LUA);
  const drop = makeScript<number>(redis, DROP_CLAIM_LUA);
  const release = makeScript<number>(redis, RELEASE_LUA);
  const monthsAt = makeMonths();
  const admit = batchCalls(ADMISSIONS_MAX, async (requests: readonly AdmitRequest[]) => {
    const months = monthsAt(now() - MONTH_EDGE_MS);
    const [first, second] = months;
    const keys = [GENERATION_KEY];
    const args: (string | number)[] = [ORDINARY_ACCESS, first.endMs, second.endMs, first.name, second.name];
    for (const request of requests) {
      keys.push(...keysOf(request, months));
      args.push(...argumentsOf(request));
    }
    const replies = await run(keys, args);
    return requests.map((request, index) => readReply(request, months, replies[index] ?? FAILED));
  });
  return {
    admit,
    async markPublished({ clientId, keyHash, seed, requestId }) {
      await mark([claimKey(clientId, keyHash)], [seed, requestId]);
    },
    dropClaim: async ({ clientId, keyHash, seed }) =>
      (await drop([claimKey(clientId, keyHash)], [seed])) === 1,
    async release({ clientId, month, count = 1 }) {
      await release([monthCounterKey(clientId, month)], [count]);
    },
  };
}

const limitOf = ({ bucket, limits }: AdmitRequest): number =>
  bucket === 'per-second' ? limits.requestsPerSecond : limits.requestsPerSecond * POLL_FACTOR;

const quotaOf = ({ bucket, limits }: AdmitRequest): number =>
  bucket === 'per-second' ? limits.requestsPerMonth : 0;

type Months = readonly [Month, Month];
type Month = { readonly name: string; readonly endMs: number };

/** The month of an instant and the next one; they are worked out once a month. */
function makeMonths(): (atMs: number) => Months {
  let known: Months | undefined;
  let startMs = Number.POSITIVE_INFINITY;
  return (atMs) => {
    if (known && startMs <= atMs && atMs < known[0].endMs) return known;
    const date = new Date(atMs);
    const startOf = (offset: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset);
    const month = (offset: number): Month => ({
      name: new Date(startOf(offset)).toISOString().slice(0, 7),
      endMs: startOf(offset + 1),
    });
    startMs = startOf(0);
    known = [month(0), month(1)];
    return known;
  };
}

function keysOf(request: AdmitRequest, [first, second]: Months): string[] {
  const { clientId, check } = request;
  return [
    logKey(clientId, request.bucket),
    monthCounterKey(clientId, first.name),
    monthCounterKey(clientId, second.name),
    check?.claim ? claimKey(clientId, check.claim.keyHash) : GENERATION_KEY,
  ];
}

function argumentsOf(request: AdmitRequest): (string | number)[] {
  const { check, isPaid = false } = request;
  return [
    limitOf(request),
    quotaOf(request),
    isPaid ? 'free' : 'rate',
    check && !check.isReplayOnly ? 'check' : 'count',
    check?.seed ?? '',
    check?.claim?.bodyHash ?? '',
    check?.claim?.replaces ?? '',
    request.clientId,
    check?.cost ?? 1,
    request.accountId,
    check?.bytes ?? 0,
    check?.batchOf ?? '',
  ];
}

const FAILED = 'failed';

function readReply(request: AdmitRequest, months: Months, reply: string): Admission | ServiceError {
  if (reply === FAILED) return new ServiceError('store-unavailable', 'Redis rejected the admission script');
  const [outcome, nowMs, remaining, resetMs, used, whichMonth, at, seed, id, month] = reply.split(' ');
  const current = months[Number(whichMonth) === 2 ? 1 : 0];
  const quota = quotaOf(request);
  return {
    outcome: outcome as AdmitOutcome,
    nowMs: Number(nowMs),
    second: { limit: limitOf(request), remaining: Number(remaining), resetMs: Number(resetMs) },
    month:
      quota === 0
        ? undefined
        : {
            name: current.name,
            limit: quota,
            remaining: Math.max(0, quota - Number(used)),
            resetMs: current.endMs - Number(nowMs),
          },
    claim: seed
      ? {
          atMs: Number(at),
          seed,
          requestId: id || undefined,
          month: month || undefined,
        }
      : undefined,
  };
}
