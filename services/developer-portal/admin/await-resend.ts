import type { WebhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import { acquireWithin } from '#shared/stores/documents/write-document.ts';
import type { Deliveries } from '#shared/stores/webhooks/deliveries.ts';

/** As long as a write of a document waits for other writers. */
const WAIT_MS = 12_000;
const POLL_MS = 50;

/**
 * Makes the function that waits until a published resend is in effect: a dispatcher has claimed it,
 * and the view shows its `resendCount`. A second resend before that would have the same number, and
 * would be dropped.
 *
 * @throws ServiceError `overloaded` if no dispatcher has claimed it within 12 s; it is still sent
 *   once one does
 */
export const makeAwaitResend =
  ({ read }: Pick<Deliveries, 'read'>, { waitMs = WAIT_MS, pollMs = POLL_MS } = {}) =>
  async ({ requestId, resendCount }: Pick<WebhookRetry, 'requestId' | 'resendCount'>): Promise<void> => {
    const message =
      `the resend of ${requestId} is published, but no webhook-dispatcher has taken it within ${waitMs / 1_000} s; ` +
      'it is sent as soon as one does';
    await acquireWithin({ msMax: waitMs, retryMs: pollMs, message }, async () => {
      const view = await read(requestId);
      return view !== undefined && view.resendCount >= resendCount;
    });
  };
