/** A sync check ends this long before its client's deadline… */
const SYNC_MARGIN_MS = 1_000;
/** …or this part of the whole span before, where that is shorter. */
const SYNC_MARGIN_PART = 5;

export type Span = {
  readonly acceptedAtMs: number;
  /** Absent for an asynchronous check. */
  readonly deadlineAtMs?: number;
};

/**
 * When the evaluation must end with what it has, in epoch ms of the clock that its arguments are of.
 *
 * A sync check ends early enough for the result to travel back: 1 s before the deadline, a fifth of the span
 * below 5 s. An asynchronous one has its time from the start of its evaluation, however long it was queued.
 *
 * @example
 * planEnd({ acceptedAtMs: 0, deadlineAtMs: 10_000 }, 100, 30_000); // 9_000
 */
export function planEnd(span: Span, startedAtMs: number, evaluationMsMax: number): number {
  if (span.deadlineAtMs === undefined) return startedAtMs + evaluationMsMax;
  const margin = Math.min(SYNC_MARGIN_MS, (span.deadlineAtMs - span.acceptedAtMs) / SYNC_MARGIN_PART);
  return span.deadlineAtMs - Math.max(0, margin);
}
