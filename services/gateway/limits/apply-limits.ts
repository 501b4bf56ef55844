import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { msUntilMidnight } from '#shared/fairness/account-bytes.ts';
import { bytesExceeded, Problem } from '#shared/http/problem.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import type { Admission, AdmitRequest, Admitter, Bucket } from '#shared/stores/checks/admit.ts';
import { addHeaders, type Response } from '../edge/exchange.ts';
import type { GatewayMetrics } from '../metrics.ts';
import { laneFull } from './lane-overload.ts';
import { rateHeaders } from './rate-headers.ts';

type Dependencies = {
  readonly admit: Admitter['admit'];
  readonly metrics: Pick<GatewayMetrics, 'limitDecisions'>;
};

/** A request before the limits: its client app, its bucket, and the check if its body is valid. */
export type LimitedRequest = Pick<AdmitRequest, 'bucket' | 'check'> & {
  readonly app: AppAccess;
  /** The admission in which this request entered the rate log, if it has: the request is not charged its rate again. */
  readonly entered?: Admission | undefined;
};

export type ApplyLimits = (request: LimitedRequest, response: Response) => Promise<Admission>;

/**
 * Applies the limits to a request and sets the limit headers that every answer from then on carries.
 *
 * @throws Problem `rate-limited`, `monthly-quota-exceeded`; ServiceError if Redis does not answer: it never fails open
 */
export function makeApplyLimits({ admit, metrics }: Dependencies): ApplyLimits {
  return async function applyLimits({ app, bucket, entered, check }, response) {
    const admission = await admit({
      clientId: app.clientId,
      accountId: app.accountId,
      limits: app.limits,
      bucket,
      ...(entered ? { isPaid: true } : {}),
      ...(check ? { check } : {}),
    });
    metrics.limitDecisions.inc({ decision: admission.outcome });
    addHeaders(response, rateHeaders(limitsAfter(entered ?? admission, admission), bucket));
    refuseOverLimit(admission, bucket);
    return admission;
  };
}

/** The limits after a request: the rate when it entered the log, and the month as its last admission left it. */
export const limitsAfter = (entered: Admission, { month }: Admission): Admission => ({ ...entered, month });

/** @throws Problem `rate-limited`, `monthly-quota-exceeded` */
export function refuseOverLimit(admission: Admission, bucket: Bucket): void {
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
    {
      members: violated(bucket),
      headers: retryAfter(second.resetMs),
    },
  );

const describeQuota = ({ month }: Admission): string =>
  `This client app may make at most ${month?.limit} checks in a calendar month (UTC), of which ${month?.remaining} are left.`;

/** The problem of a request that the month has too few checks left for. */
export const quotaExceeded = ({ month }: Admission, detail: string): Problem =>
  new Problem('monthly-quota-exceeded', detail, {
    members: violated('per-month'),
    headers: retryAfter(month?.resetMs ?? 0),
  });
