import type { AppAccess } from '#shared/contracts/client-app.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import type { Admission, AdmitRequest, Admitter, Bucket } from '#shared/redis/admit.ts';
import { addHeaders, type Response } from './exchange.ts';
import type { GatewayMetrics } from './metrics.ts';
import { Problem } from './problem.ts';
import { rateHeaders } from './rate-headers.ts';

type Dependencies = {
  readonly admit: Admitter['admit'];
  readonly metrics: Pick<GatewayMetrics, 'limitDecisions'>;
};

/** A request before the limits: its client app, its bucket, and the check if its body is valid. */
export type LimitedRequest = Pick<AdmitRequest, 'bucket' | 'isPaid' | 'check'> & { readonly app: AppAccess };

export type ApplyLimits = (request: LimitedRequest, response: Response) => Promise<Admission>;

/**
 * Applies the limits to a request, once, and sets the limit headers that every answer from then on carries.
 *
 * @throws Problem `rate-limited`, `monthly-quota-exceeded`; ServiceError if Redis does not answer: it never fails open
 */
export function makeApplyLimits({ admit, metrics }: Dependencies): ApplyLimits {
  return async function applyLimits({ app, bucket, isPaid, check }, response) {
    const admission = await admit({
      clientId: app.clientId,
      limits: app.limits,
      bucket,
      ...(isPaid ? { isPaid } : {}),
      ...(check ? { check } : {}),
    });
    metrics.limitDecisions.inc({ decision: admission.outcome });
    addHeaders(response, rateHeaders(admission, bucket));
    refuseOverLimit(admission, bucket);
    return admission;
  };
}

/** @throws Problem `rate-limited`, `monthly-quota-exceeded` */
export function refuseOverLimit(admission: Admission, bucket: Bucket): void {
  if (admission.outcome === 'rate-limited') throw rateLimited(admission, bucket);
  if (admission.outcome === 'quota-exceeded') throw quotaExceeded(admission);
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

const quotaExceeded = ({ month }: Admission): Problem =>
  new Problem(
    'monthly-quota-exceeded',
    `This client app may make at most ${month?.limit} checks in a calendar month (UTC), of which ${month?.remaining} are left.`,
    {
      members: violated('per-month'),
      headers: retryAfter(month?.resetMs ?? 0),
    },
  );
