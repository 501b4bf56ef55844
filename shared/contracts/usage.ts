import { z } from 'zod';
import { defineTopic } from './topic.ts';

/** Totals of one client app in one hour. */
export const Usage = z.object({
  clientId: z.string(),
  /** The hour, UTC: `2026-11-21T10`. */
  hour: z.string(),
  accepted: z.number().int().nonnegative(),
  refused: z.number().int().nonnegative(),
  /** The month's counter at the time of writing. */
  monthTotal: z.number().int().nonnegative(),
});
export type Usage = z.infer<typeof Usage>;

export const usage = defineTopic({
  name: 'usage.v1',
  schema: Usage,
  keyOf: (message) => `${message.clientId}/${message.hour}`,
  partitionCount: 12,
  cleanup: 'compact,delete',
  retentionDays: 40,
});
