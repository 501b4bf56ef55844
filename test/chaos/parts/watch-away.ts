import type { Attempt } from '../../support/ledger.ts';
import type { Span } from '../measure.ts';

/** A request that began this long after the harm cannot have been served before it. */
const MARGIN_MS = 200;

/** The attempts that began and were answered while something was away. */
export const duringAway = (attempts: readonly Attempt[], { fromMs, toMs }: Span): Attempt[] =>
  attempts.filter(
    ({ startedAt, tookMs, status }) =>
      status !== undefined && startedAt >= fromMs + MARGIN_MS && startedAt + (tookMs ?? 0) <= toMs,
  );

/**
 * What must hold while the broker or the store is away: nothing is accepted, and every refusal says when to come back.
 */
export function judgeAway(attempts: readonly Attempt[], away: Span): string[] {
  const answered = duringAway(attempts, away);
  const accepted = answered.filter(({ status = 0 }) => status < 300);
  const other = answered.filter(({ status = 0 }) => status >= 300 && status !== 503 && status !== 504);
  const mute = answered.filter(({ status, retryAfter }) => status === 503 && retryAfter === undefined);
  return [
    ...(answered.length === 0 ? ['nothing was asked meanwhile'] : []),
    ...(accepted.length > 0 ? [`${accepted.length} accepted meanwhile`] : []),
    ...(other.length > 0 ? [`${other.length} answered ${other[0]?.status}`] : []),
    ...(mute.length > 0 ? [`${mute.length} × 503 without Retry-After`] : []),
  ];
}

/** From an instant until the first attempt that began later was accepted, in ms. */
export function backAfter(attempts: readonly Attempt[], fromMs: number): number {
  const ends = attempts.flatMap(({ startedAt, status = 500, tookMs = 0 }) =>
    startedAt + tookMs >= fromMs && status < 300 ? [startedAt + tookMs] : [],
  );
  return Math.min(...ends) - fromMs;
}
