import { z } from 'zod';
import { StoredBatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { BatchSummary } from '#shared/stores/batches/batch-list.ts';
import * as api from '../../http/api.ts';
import { DeliveryAnswer } from '../../http/api-answers.ts';
import type { Operation } from '../../operation.ts';

const BATCHES = '/api/apps/:clientId/batches';
const BATCH = `${BATCHES}/:requestId`;

const count = z.number().int().nonnegative();
const BatchPage = z
  .object({
    batches: z.array(BatchSummary.meta({ id: 'BatchSummary' })),
    /** Given where there are more: the next page's `before`. */
    next: z.string().optional(),
  })
  .meta({ id: 'BatchPage' });
const BatchOptions = z
  .object({
    /** The tier's: entries of a batch, and batches that may be unfinished at once. */
    limits: z.object({ entries: count, unfinished: count }),
    /** The calendar month (UTC) as the limiter counts it. */
    month: z.object({ name: z.string(), used: count, quota: count }),
  })
  .meta({ id: 'BatchOptions' });
const Batch = StoredBatchStatus.extend({
  /** Of a batch with a callback URL. */
  delivery: DeliveryAnswer.optional(),
}).meta({ id: 'Batch' });
const UnreadEntries = z
  .object({
    entries: z.array(
      z.object({
        index: count,
        account: z.string().optional(),
        accounts: z.array(z.string()).optional(),
        ref: z.string().optional(),
        status: z.string(),
        errors: z.array(
          z.object({
            /** The whole entry failed where it is absent. */
            roleId: z.string().optional(),
            code: z.string(),
            message: z.string(),
            retryable: z.boolean(),
          }),
        ),
      }),
    ),
    /** Given where entries are left to be looked at: the next page's `from`. */
    next: count.optional(),
  })
  .meta({ id: 'UnreadEntries' });
const StartedBatch = z
  .object({
    status: z.number().int(),
    /** JSON where it is JSON, else text. */
    body: z.unknown(),
  })
  .meta({ id: 'StartedBatch' });

/** An app's batches: many wallets under one rule set, started with one of the app's keys. */
export const BATCH_OPERATIONS = {
  listBatches: {
    method: 'get',
    path: BATCHES,
    access: 'session',
    summary: 'The newest 200 batches whose results are kept, newest first',
    query: api.BatchesQuery,
    status: 200,
    answer: BatchPage,
    codes: ['not-found'],
  },
  readBatchOptions: {
    method: 'get',
    path: '/api/apps/:clientId/batch-options',
    access: 'session',
    summary: "The tier's limits for batches, and the month's quota that their entries are charged to",
    status: 200,
    answer: BatchOptions,
    codes: ['not-found'],
  },
  startBatch: {
    method: 'post',
    path: BATCHES,
    access: 'session',
    summary: "Send a batch with one of the app's keys (`X-Api-Key`) and return the gateway's response",
    upload: 'application/x-ndjson',
    isIdempotent: true,
    status: 200,
    answer: StartedBatch,
    codes: [
      'not-found',
      'gateway-unavailable',
      'media-type-unsupported',
      'request-timeout',
      'validation-failed',
    ],
  },
  readBatch: {
    method: 'get',
    path: BATCH,
    access: 'session',
    summary: 'The status of a batch: how many entries are done, and how many hold each role',
    status: 200,
    answer: Batch,
    codes: ['not-found'],
  },
  listUnreadEntries: {
    method: 'get',
    path: `${BATCH}/unread`,
    access: 'session',
    summary: 'Entries of a finished batch that have a rule which could not be read',
    query: api.UnreadEntriesQuery,
    isHeavy: true,
    status: 200,
    answer: UnreadEntries,
    codes: ['not-found', 'conflict'],
  },
  downloadBatch: {
    method: 'get',
    path: `${BATCH}/results`,
    access: 'session',
    summary: 'The results of a finished batch as a file, one line per entry',
    query: api.BatchResultsQuery,
    download: ['application/x-ndjson', 'text/csv'],
    status: 200,
    codes: ['not-found', 'conflict'],
  },
} as const satisfies Record<string, Operation>;
