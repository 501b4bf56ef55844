import { z } from 'zod';
import { defineTopic } from '../topic.ts';
import { Delivery } from '../webhooks/delivery.ts';

/**
 * Evaluator → result-store and webhook-dispatcher. Contains the final JSON bytes of the result, so
 * that consumers do not serialise it again, and all they need to act, so that they do not look up
 * the request.
 */
export const CheckCompleted = z.object({
  requestId: z.string().min(1).max(64),
  clientId: z.string(),
  /** The account that owns the client app: what is shared, is shared by account first. */
  accountId: z.string(),
  /** The API key of the request. */
  keyId: z.string(),
  delivery: Delivery,
  acceptedAt: z.iso.datetime(),
  retainUntil: z.iso.datetime(),
  /** Whether the check is charged: `false` refunds it to `chargedMonth`, as `isRefunded` of its
   * result says. */
  decided: z.boolean(),
  chargedMonth: z.string().optional(),
  /** When the evaluation began, Redis's clock; absent for a check that was given up. */
  startedAt: z.iso.datetime().optional(),
  /** The position of the request in the topic of its lane. */
  request: z.object({ partition: z.number().int().nonnegative(), offset: z.number().int().nonnegative() }),
  /** A `CheckResult` as JSON text: these very characters are stored, polled and delivered. */
  resultJson: z.string(),
});
export type CheckCompleted = z.infer<typeof CheckCompleted>;

export const checkCompleted = defineTopic({
  name: 'check.completed.v1',
  schema: CheckCompleted,
  keyOf: (message) => message.requestId,
  urgent: { is: ({ delivery }) => delivery.mode === 'sync', partitionCount: 6 },
  partitionCount: 24,
  retentionDays: 7,
  messageMibMax: 4,
  reservedKib: 64,
});
