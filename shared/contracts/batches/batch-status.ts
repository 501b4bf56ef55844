import { z } from 'zod';
import { RuleSetReference } from '../rules/rule.ts';
import { RoleCounts } from './batch.ts';

/** The progress of a batch: the answer to a poll, and the body of the webhook of a finished
 * batch. */
export const BatchStatus = z.object({
  requestId: z.string(),
  status: z.enum(['pending', 'completed']),
  entries: z.number().int().positive(),
  /** Entries whose results are stored. */
  done: z.number().int().nonnegative(),
  /** Of the finished entries; in the order in which the rules name the roles first. */
  roles: z.array(RoleCounts),
  acceptedAt: z.iso.datetime(),
  /** When the last entry was evaluated. */
  completedAt: z.iso.datetime().optional(),
  ruleSet: RuleSetReference.optional(),
});
export type BatchStatus = z.infer<typeof BatchStatus>;

/**
 * As stored, for operators and the portal. `abandoned`: never accepted, because not all of it could
 * be published; its entries without results are refunded.
 */
export const StoredBatchStatus = BatchStatus.extend({
  status: z.enum(['pending', 'completed', 'abandoned']),
});
export type StoredBatchStatus = z.infer<typeof StoredBatchStatus>;

/** The body of a batch's webhook. It follows from the stored parts alone, so every call returns the
 * same bytes. */
export const batchWebhookOf = (status: StoredBatchStatus): string =>
  JSON.stringify({ type: 'batch.completed', ...status });
