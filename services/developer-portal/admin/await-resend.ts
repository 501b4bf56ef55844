import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '#shared/errors.ts';
import type { Deliveries } from '#shared/redis/deliveries.ts';

/** As long as a write of a document waits for other writers. */
const WAIT_MS = 12_000;
const POLL_MS = 50;

type Options = {
  readonly waitMs?: number;
  readonly pollMs?: number;
  /** Milliseconds of a monotonic clock. */
  readonly monotonicMs?: () => number;
};

/**
 * Makes the function that waits until a published resend is in effect: a dispatcher has claimed it, and the view shows its
 * `resendCount`. A second resend before that would have the same number, and would be dropped.
 *
 * @throws ServiceError `overloaded` if no dispatcher has claimed it within 12 s; it is still sent once one does
 */
export const makeAwaitResend =
  (
    { read }: Pick<Deliveries, 'read'>,
    { waitMs = WAIT_MS, pollMs = POLL_MS, monotonicMs = () => performance.now() }: Options = {},
  ) =>
  async (requestId: string, resendCount: number): Promise<void> => {
    for (const beganMs = monotonicMs(); monotonicMs() - beganMs < waitMs; await delay(pollMs)) {
      const view = await read(requestId);
      if (view !== undefined && view.resendCount >= resendCount) return;
    }
    throw new ServiceError(
      'overloaded',
      `the resend of ${requestId} is published, but no webhook-dispatcher has taken it within ${waitMs / 1_000} s; it is sent as soon as one does`,
    );
  };
