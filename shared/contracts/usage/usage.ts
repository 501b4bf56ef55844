import { z } from 'zod';
import { defineTopic } from '../topic.ts';

/** Totals of one client app in one hour, written again while they grow; the last record of an hour
 * counts. */
export const Usage = z.object({
  clientId: z.string(),
  /** The hour, UTC: `2026-11-21T10`. */
  hour: z.string(),
  accepted: z.number().int().nonnegative(),
  refused: z.number().int().nonnegative(),
  /** The calendar month (UTC) of `asOf`, and its counter then: the start value when the counters
   * are rebuilt. */
  month: z.string(),
  monthTotal: z.number().int().nonnegative(),
  /** How many checks of the month were refunded for their results by then: the counter does not
   * contain them. */
  monthRefunds: z.number().int().nonnegative(),
  /** The counters of the hour's whole day until `asOf`, by the names of `day-figures.ts`. */
  day: z.record(z.string(), z.number().int().nonnegative()).optional(),
  /** Redis's clock at the moment the figures were read. */
  asOf: z.iso.datetime(),
});
export type Usage = z.infer<typeof Usage>;

export const usage = defineTopic({
  name: 'usage.v1',
  schema: Usage,
  keyOf: (message) => `${message.clientId}/${message.hour}`,
  isOfSystem: true,
  partitionCount: 12,
  cleanup: 'compact,delete',
  retention: 'usage',
});
