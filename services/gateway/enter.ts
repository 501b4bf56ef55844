import type { AppAccess } from '#shared/contracts/client-app.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import type { Admission, AdmitRequest, Admitter, Bucket } from '#shared/redis/admit.ts';
import { addHeaders, type Response } from './exchange.ts';
import type { GatewayMetrics } from './metrics.ts';
import { Problem } from './problem.ts';
import { rateHeaders } from './rate-headers.ts';

export type Dependencies = {
  readonly admit: Admitter['admit'];
  readonly metrics: Pick<GatewayMetrics, 'limitDecisions'>;
};

/** A request before the limits: whose it is, which bucket it draws from, and the check if it holds a valid one. */
export type Entry = Pick<AdmitRequest, 'bucket' | 'check'> & { readonly app: AppAccess };

export type Enter = (entry: Entry, response: Response) => Promise<Admission>;

/**
 * Takes a request through the limits, once: sets the limit headers, which every answer from then on carries.
 *
 * @throws Problem `rate-limited`, `monthly-quota-exceeded`; ServiceError when Redis is away: it never fails open
 */
export function makeEnter({ admit, metrics }: Dependencies): Enter {
  return async function enter({ app, bucket, check }, response) {
    const admission = await admit({
      clientId: app.clientId,
      limits: app.limits,
      bucket,
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
  new Problem('rate-limited', `At most ${second.limit} requests in any second.`, {
    members: violated(bucket),
    headers: retryAfter(second.resetMs),
  });

const quotaExceeded = ({ month }: Admission): Problem =>
  new Problem('monthly-quota-exceeded', `At most ${month?.limit} checks in a calendar month (UTC).`, {
    members: violated('per-month'),
    headers: retryAfter(month?.resetMs ?? 0),
  });
