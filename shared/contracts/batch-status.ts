import { z } from 'zod';
import { RoleCounts } from './batch.ts';
import { RuleSetReference } from './rule.ts';

/** How far a batch is: what a poll is answered with, and what the webhook of a finished batch holds. */
export const BatchStatus = z.object({
  requestId: z.string(),
  status: z.enum(['pending', 'completed']),
  /** Entries of the whole batch. */
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

/** The body of a batch's webhook. It follows from the stored parts alone, so it is the same however often it is made. */
export const batchWebhookOf = (status: BatchStatus): string =>
  JSON.stringify({ type: 'batch.completed', ...status });
