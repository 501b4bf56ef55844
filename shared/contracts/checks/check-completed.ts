import { z } from 'zod';
import { defineTopic, ofRequest } from '../topic.ts';

/** The members that the views keep of an evaluated check beside the bytes of its result. */
export const CheckRecord = z.object({
  keyId: z.string(),
  /** Whether the check is charged: `false` refunds it to `chargedMonth`, as `isRefunded` of its
   * result says. */
  decided: z.boolean(),
  chargedMonth: z.string().optional(),
  /** When the evaluation began, Redis's clock; absent for a check that was given up. */
  startedAt: z.iso.datetime().optional(),
  /** The position of the request in the topic of its lane. */
  request: z.object({ partition: z.number().int().nonnegative(), offset: z.number().int().nonnegative() }),
});
export type CheckRecord = z.infer<typeof CheckRecord>;

/**
 * Evaluator → result-store: the result of a sync or polled check. That of a check with a webhook is
 * in `webhook.requested.v1`. Contains the final JSON bytes, so that consumers do not serialise them
 * again, and all they need to act, so that they do not look up the request.
 */
export const CheckCompleted = z.object({
  ...ofRequest,
  mode: z.enum(['sync', 'poll']),
  ...CheckRecord.shape,
  /** A `CheckResult` as JSON text: these very characters are stored and polled. */
  resultJson: z.string(),
});
export type CheckCompleted = z.infer<typeof CheckCompleted>;

/** An evaluated check, whichever topic it is in. */
export type EvaluatedCheck = Omit<CheckCompleted, 'mode'> & {
  readonly mode: CheckCompleted['mode'] | 'webhook';
};

export const checkCompleted = defineTopic({
  name: 'check.completed.v1',
  schema: CheckCompleted,
  keyOf: (message) => message.requestId,
  partitionCount: 24,
  retention: 'checks',
  messageMibMax: 4,
});
