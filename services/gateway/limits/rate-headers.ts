import type { Admission, AdmitOutcome, Bucket } from '#shared/stores/checks/admit.ts';

/** The policy's window in seconds; the limit itself counts by calendar month. */
const MONTH_SECONDS = 2_592_000;

/** Refused requests, which do not enter the log of the rate. */
const NOT_IN_LOG: ReadonlySet<AdmitOutcome> = new Set(['rate-limited', 'quota-exceeded']);

const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

/**
 * The limit headers of an authenticated answer: draft-ietf-httpapi-ratelimit-headers-10, and the legacy
 * `X-RateLimit-*` of the per-second policy.
 *
 * @example
 * response.setHeaders(new Headers(rateHeaders(admission, 'per-second')));
 */
export function rateHeaders(
  { nowMs, outcome, second, month }: Admission,
  bucket: Bucket,
): Record<string, string> {
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
