import { z } from 'zod';
import { WebhookState } from '#shared/contracts/webhooks/webhook.ts';
import {
  attemptFacts,
  CallbackUrl,
  count,
  DeliveryAnswer,
  Instant,
  instant,
  next,
  page,
} from '../../http/api.ts';
import type { Declaration } from '../../http/operation.ts';

const DeliverySummary = z.object({
  requestId: z.string(),
  state: WebhookState,
  callbackUrl: z.string(),
  acceptedAt: instant,
  attempts: count,
  lastAttempt: z.object(attemptFacts).optional(),
});
const Accepted = z.object({ requestId: z.string() });

/** The common members of operations that send a webhook. */
const SENDING = { needs: 'active', isIdempotent: true, status: 202 } as const;

export const DELIVERY_OPERATIONS = {
  listDeliveries: {
    call: 'GET /api/apps/:clientId/deliveries',
    summary: 'Webhook deliveries, newest first',
    query: z.strictObject({ state: WebhookState.optional(), since: Instant.optional(), ...page }),
    isHeavy: true,
    answer: z.object({ deliveries: z.array(DeliverySummary), next }),
  },
  readDelivery: {
    call: 'GET /api/apps/:clientId/deliveries/:requestId',
    summary: 'One delivery with its payload and its attempts, oldest first',
    /** The body, byte for byte as it is sent on every attempt; absent once its retention has
     * ended. */
    answer: DeliveryAnswer.extend({ payload: z.string().optional() }),
  },
  readReceiverAnswer: {
    call: 'GET /api/apps/:clientId/deliveries/:requestId/answer',
    summary: "The receiver's answer to the last attempt, read from Kafka; kept for 30 days",
    isHeavy: true,
    /** The first 4 KiB of what the receiver answered to the last attempt that reached it; absent if
     * it is empty, or not kept. */
    answer: z.object({ answer: z.string().optional() }),
  },
  resendDelivery: {
    call: 'POST /api/apps/:clientId/deliveries/:requestId/resend',
    ...SENDING,
    summary: 'Deliver a webhook again, with the same bytes and the same id',
    answer: Accepted,
  },
  resendFailed: {
    call: 'POST /api/apps/:clientId/deliveries/resend-failed',
    ...SENDING,
    summary: 'Deliver all webhooks again that failed since an instant, at most 300 000 of an app in 24 hours',
    body: z.strictObject({ since: Instant }),
    answer: z.object({ count }),
    codes: ['rate-limited'],
  },
  sendTestEvent: {
    call: 'POST /api/apps/:clientId/test-event',
    ...SENDING,
    summary: 'Deliver a signed event of type `test`, at most one in 20 s',
    body: z.strictObject({ callbackUrl: CallbackUrl }),
    answer: Accepted,
    codes: ['callback-url-refused', 'rate-limited'],
  },
} as const satisfies Record<string, Declaration>;
