import { overloaded, type Problem } from '#shared/http/problem.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import type { IssuedLane } from '../checks/request-ids.ts';

const RETRY_AFTER_MS = 5_000;

/** Whether a lane has too much lag to take more. */
export type IsOverloaded = (lane: IssuedLane) => boolean;

/** A lane with too much lag takes no more; the other lanes are not affected. Undefined if it takes more. */
export const overloadOf = (isOverloaded: IsOverloaded, lane: IssuedLane): Problem | undefined =>
  isOverloaded(lane) ? laneFull(lane) : undefined;

export const laneFull = (lane: IssuedLane): Problem =>
  overloaded(
    `Too many ${lane === 'batch' ? 'batches' : 'checks'} are waiting for evaluation; retry after the seconds in Retry-After.`,
    retryAfter(RETRY_AFTER_MS),
  );
