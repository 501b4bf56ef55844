import type { Attempt } from '../../support/judges/ledger.ts';
import type { Span } from './measure.ts';

/** An attempt that began at least this long after the fault cannot have been served before it. */
const MARGIN_MS = 200;

/** The attempts that began and were answered while a dependency was away. */
export const duringAway = (attempts: readonly Attempt[], { fromMs, toMs }: Span): Attempt[] =>
  attempts.filter(
    ({ startedAt, tookMs, status }) =>
      status !== undefined && startedAt >= fromMs + MARGIN_MS && startedAt + (tookMs ?? 0) <= toMs,
  );

/**
 * The promise while the broker or the store is away: nothing is accepted, and every refusal has a
 * Retry-After.
 */
export function judgeAway(attempts: readonly Attempt[], away: Span): string[] {
  const answered = duringAway(attempts, away);
  const accepted = answered.filter(({ status = 0 }) => status < 300);
  const other = answered.filter(({ status = 0 }) => status >= 300 && status !== 503 && status !== 504);
  const mute = answered.filter(({ status, retryAfter }) => status === 503 && retryAfter === undefined);
  return [
    ...(answered.length === 0 ? ['no request was sent meanwhile'] : []),
    ...(accepted.length > 0 ? [`${accepted.length} accepted meanwhile`] : []),
    ...(other.length > 0 ? [`${other.length} answered ${other[0]?.status}`] : []),
    ...(mute.length > 0 ? [`${mute.length} × 503 without Retry-After`] : []),
  ];
}

/** Ms from an instant to the first later answer that accepts a check. */
export function backAfter(attempts: readonly Attempt[], fromMs: number): number {
  const ends = attempts.flatMap(({ startedAt, status = 500, tookMs = 0 }) =>
    startedAt + tookMs >= fromMs && status < 300 ? [startedAt + tookMs] : [],
  );
  return Math.min(...ends) - fromMs;
}
