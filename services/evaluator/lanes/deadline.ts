/** A sync check ends this long before its client's deadline… */
const SYNC_MARGIN_MS = 1_000;
/** …or the span divided by this number, if that is shorter. */
const SYNC_MARGIN_PART = 5;

type Span = {
  /** ISO 8601, the same clock as the other instants. */
  readonly acceptedAt: string;
  /** Absent for an asynchronous check. */
  readonly deadlineAt?: string | undefined;
};

/**
 * Returns when the evaluation must end with the readings it has, in epoch ms.
 *
 * A sync check ends early enough for the result to reach the client: 1 s before the deadline, or a
 * fifth of the span if the span is below 5 s. The time limit of an asynchronous check starts with
 * its evaluation, however long it was queued.
 */
export function planEnd(
  { acceptedAt, deadlineAt }: Span,
  startedAtMs: number,
  evaluationMsMax: number,
): number {
  if (deadlineAt === undefined) return startedAtMs + evaluationMsMax;
  const deadlineAtMs = Date.parse(deadlineAt);
  const margin = Math.min(SYNC_MARGIN_MS, (deadlineAtMs - Date.parse(acceptedAt)) / SYNC_MARGIN_PART);
  return deadlineAtMs - Math.max(0, margin);
}
