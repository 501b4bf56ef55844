import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { msUntilMidnight } from '#shared/fairness/account-bytes.ts';
import { bytesExceeded, overloaded, Problem, retryAfter } from '#shared/http/problem.ts';
import type { Admission, AdmitOutcome, AdmitRequest, Admitter, Bucket } from '#shared/stores/checks/admit.ts';
import type { IssuedLane } from '../checks/request-ids.ts';
import { addHeaders, type Response } from '../edge/exchange.ts';
import type { GatewayMetrics } from '../metrics.ts';

type Dependencies = {
  readonly admit: Admitter['admit'];
  readonly metrics: Pick<GatewayMetrics, 'limitDecisions'>;
};

/** A request before the limits: its client app, its bucket, and the check if its body is valid. */
type LimitedRequest = Pick<AdmitRequest, 'bucket' | 'check' | 'places'> & {
  readonly app: AppAccess;
  /** The admission in which this request entered the rate log, if it has: the request is not
   * charged its rate again. */
  readonly entered?: Admission | undefined;
};

export type ApplyLimits = (request: LimitedRequest, response: Response) => Promise<Admission>;

/**
 * Applies the limits to a request and sets the limit headers that every answer from then on
 * carries.
 *
 * @throws Problem `rate-limited`, `monthly-quota-exceeded`; ServiceError if Redis does not answer:
 *   it never fails open
 */
export function makeApplyLimits({ admit, metrics }: Dependencies): ApplyLimits {
  return async function applyLimits({ app, bucket, entered, places, check }, response) {
    const { clientId, accountId, limits } = app;
    const isPaid = entered !== undefined;
    const admission = await admit({ clientId, accountId, limits, bucket, isPaid, places, check });
    metrics.limitDecisions.inc({ decision: admission.outcome });
    addHeaders(response, rateHeaders(limitsAfter(entered ?? admission, admission), bucket));
    refuseOverLimit(admission, bucket);
    return admission;
  };
}

/** The limits after a request: the rate when it entered the log, and the month as its last
 * admission left it. */
export const limitsAfter = (entered: Admission, { month }: Admission): Admission => ({ ...entered, month });

/** @throws Problem `rate-limited`, `monthly-quota-exceeded` */
function refuseOverLimit(admission: Admission, bucket: Bucket): void {
  if (admission.outcome === 'rate-limited') throw rateLimited(admission, bucket);
  if (admission.outcome === 'quota-exceeded') throw quotaExceeded(admission, describeQuota(admission));
  if (admission.outcome === 'bytes-exceeded') throw bytesExceeded(msUntilMidnight(admission.nowMs));
  if (admission.outcome === 'lane-full') throw laneFull('batch');
}

const violated = (policy: Bucket | 'per-month') => ({ 'violated-policies': [policy] });

const rateLimited = ({ second }: Admission, bucket: Bucket): Problem =>
  new Problem(
    'rate-limited',
    `This client app may send at most ${second.limit} requests in any second; retry after the seconds in Retry-After.`,
    { members: violated(bucket), headers: retryAfter(second.resetMs) },
  );

const describeQuota = ({ month }: Admission): string =>
  `This client app may make at most ${month?.limit} checks in a calendar month (UTC), of which ${month?.remaining} are left.`;

/** The problem of a request that the month has too few checks left for. */
export const quotaExceeded = ({ month }: Admission, detail: string): Problem =>
  new Problem('monthly-quota-exceeded', detail, {
    members: violated('per-month'),
    headers: retryAfter(month?.resetMs ?? 0),
  });

/** The policy's window in seconds; the limit itself counts by calendar month. */
const MONTH_SECONDS = 2_592_000;

/** Refused requests, which do not enter the log of the rate. */
const NOT_IN_LOG: ReadonlySet<AdmitOutcome> = new Set(['rate-limited', 'quota-exceeded', 'bytes-exceeded']);

const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

/**
 * The limit headers of an authenticated answer: draft-ietf-httpapi-ratelimit-headers-10, and the
 * legacy `X-RateLimit-*` of the per-second policy.
 */
function rateHeaders({ nowMs, outcome, second, month }: Admission, bucket: Bucket): Record<string, string> {
  const policies = [`"${bucket}";q=${second.limit};w=1`];
  // The window is closed on both sides, so it may be a millisecond longer than the policy's second.
  const secondMs = Math.min(second.resetMs, 1_000);
  const limits = [`"${bucket}";r=${second.remaining};t=${seconds(secondMs)}`];
  if (month) {
    policies.push(`"per-month";q=${month.limit};w=${MONTH_SECONDS}`);
    limits.push(`"per-month";r=${month.remaining};t=${seconds(month.resetMs)}`);
  }
  return {
    'ratelimit-policy': policies.join(', '),
    ratelimit: limits.join(', '),
    'x-ratelimit-limit': String(second.limit),
    'x-ratelimit-remaining': String(second.remaining),
    'x-ratelimit-reset': new Date(nowMs + second.resetMs).toISOString(),
    ...(NOT_IN_LOG.has(outcome) ? {} : { 'rolecall-accepted-at': String(nowMs) }),
  };
}

/** The headers after the month's charge, of `count` checks, was refunded. */
export function rateHeadersAfterRefund(admission: Admission, count = 1): Record<string, string> {
  const { month } = admission;
  const left = month && { ...month, remaining: Math.min(month.limit, month.remaining + count) };
  return rateHeaders({ ...admission, month: left }, 'per-second');
}

const RETRY_AFTER_MS = 5_000;

/** Whether an app's part of a lane has too much lag to take more. */
export type IsOverloaded = (lane: IssuedLane, app: AppAccess) => boolean;

/** A lane with too much lag takes no more of an app; the other lanes are not affected. Undefined if
 * it takes more. */
export const overloadOf = (
  isOverloaded: IsOverloaded,
  lane: IssuedLane,
  app: AppAccess,
): Problem | undefined => (isOverloaded(lane, app) ? laneFull(lane) : undefined);

const laneFull = (lane: IssuedLane): Problem =>
  overloaded(
    `Too many ${lane === 'batch' ? 'batches' : 'checks'} are waiting for evaluation; retry after the seconds in Retry-After.`,
    retryAfter(RETRY_AFTER_MS),
  );
