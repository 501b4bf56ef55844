import { z } from 'zod';
import { defineTopic } from '../topic.ts';

const Figures = z.record(z.string(), z.number().int().nonnegative());

/** Totals of one client app in one hour, written again while they grow; the last record of an hour
 * counts. */
export const Usage = z.object({
  clientId: z.string(),
  /** The hour, UTC: `2026-11-21T10`. */
  hour: z.string(),
  /** The calendar month (UTC) of the hour, its counter at `asOf`, and how much of that the checks of
   * watches are. */
  month: z.string(),
  monthTotal: z.number().int().nonnegative(),
  monthOfWatches: z.number().int().nonnegative(),
  /** The figures of the hour's whole day until `asOf`, by the names of `day-figures.ts`, and those of
   * the hour. */
  day: Figures,
  ofHour: Figures,
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
