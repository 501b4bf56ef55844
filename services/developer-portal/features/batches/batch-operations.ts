import { z } from 'zod';
import { StoredBatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { RoleVerdict } from '#shared/contracts/checks/result.ts';
import { BatchSummary } from '#shared/stores/batches/batches.ts';
import { BatchLine, SELECTIONS } from '../../domain/batch-lines.ts';
import { count, DeliveryAnswer, Month, next, page } from '../../http/api.ts';
import type { Declaration } from '../../http/operation.ts';

const Entries = z.object({
  entries: z.array(
    BatchLine.omit({ before: true }).extend({
      /** In a preview of a watch: the roles that the member would gain (granted) and lose. */
      changes: z.array(RoleVerdict).optional(),
    }),
  ),
  /** Given where entries are left to be looked at: the place of the first of them. */
  next: count.optional(),
});
/** An app's batches: many wallets under one rule set, started with one of the app's keys. */
export const BATCH_OPERATIONS = {
  listBatches: {
    call: 'GET /api/apps/:clientId/batches',
    summary: 'The newest 200 batches whose results are kept, newest first',
    query: z.strictObject(page),
    answer: z.object({
      batches: z.array(BatchSummary.meta({ id: 'BatchSummary' })),
      next,
    }),
  },
  readBatchOptions: {
    call: 'GET /api/apps/:clientId/batch-options',
    summary: "The tier's limits for batches, and the month's quota that their entries are charged to",
    answer: z.object({
      /** The tier's: entries of a batch, and batches that may be unfinished at once. */
      limits: z.object({ entries: count, unfinished: count }),
      month: Month,
    }),
  },
  startBatch: {
    call: 'POST /api/apps/:clientId/batches',
    summary: "Send a batch with one of the app's keys (`X-Api-Key`) and return the gateway's response",
    upload: 'application/x-ndjson',
    isIdempotent: true,
    answer: z.object({
      status: z.number().int(),
      /** JSON where it is JSON, else text. */
      body: z.unknown(),
    }),
    codes: ['gateway-unavailable', 'media-type-unsupported', 'request-timeout', 'validation-failed'],
  },
  readBatch: {
    call: 'GET /api/apps/:clientId/batches/:requestId',
    summary: 'The status of a batch: how many entries are done, and how many hold each role',
    answer: StoredBatchStatus.extend({
      /** Of a batch with a callback URL. */
      delivery: DeliveryAnswer.optional(),
    }),
  },
  listEntries: {
    call: 'GET /api/apps/:clientId/batches/:requestId/entries',
    summary:
      'Entries of a finished batch: all, those with a rule that could not be read, or in a preview those who would gain or lose a role',
    query: z.strictObject({
      of: z.enum(SELECTIONS).default('all'),
      after: z
        .string()
        .regex(/^[0-9]{1,6}$/, 'A whole number.')
        .transform(Number)
        .pipe(z.number().int().nonnegative())
        .default(0)
        .meta({ type: 'integer', minimum: 0, default: 0 }),
    }),
    isHeavy: true,
    answer: Entries,
    codes: ['conflict'],
  },
  downloadBatch: {
    call: 'GET /api/apps/:clientId/batches/:requestId/results',
    summary: 'The results of a finished batch as a file, one line per entry',
    query: z.strictObject({ format: z.enum(['ndjson', 'csv']).default('ndjson') }),
    download: ['application/x-ndjson', 'text/csv'],
    codes: ['conflict'],
  },
} as const satisfies Record<string, Declaration>;
