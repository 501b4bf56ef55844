import { z } from 'zod';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import { RoleCounts } from '#shared/contracts/batches/batch.ts';
import { BatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { CheckResult } from '#shared/contracts/checks/result.ts';
import { BATCH_PATH } from '#shared/contracts/paths.ts';
import { Address, Ref } from '#shared/rules/body-texts.ts';
import { RESULTS_MAX } from '../../batches/parse-range.ts';
import { CheckBody, exactlyOneOf, wallets } from '../../checks/api.ts';
import { OPERATION_CODES, RequestId } from './api-answers.ts';
import { BATCH_EXAMPLES, BATCH_LINES_EXAMPLE, BATCH_STATUS_EXAMPLE } from './examples.ts';
import {
  acceptedHeaders,
  header,
  IDEMPOTENCY_KEY,
  PREFER,
  problems,
  RETRY_AFTER,
  SUCCESS_HEADERS,
} from './parts.ts';

// The schemas of this file only describe: a batch of 100 000 entries is validated by hand, as it arrives
// (`batches/validate-entry.ts`, `batches/collect-batch.ts`).

export const BatchEntry = z
  .union([
    Address,
    z
      .strictObject({ ...wallets, ref: Ref.optional() })
      .meta({ allOf: [exactlyOneOf('account', 'accounts')] }),
  ])
  .meta({
    id: 'BatchEntry',
    description: 'An address, or the wallets of one person with your id for the person.',
  });

const { ruleSet, rules, callbackUrl, onUndetermined, consistency, proof, proofSeconds } = CheckBody.shape;
const BatchBody = z
  .strictObject({
    entries: z.array(BatchEntry).min(1).meta({
      description: 'Free tier at most 1 000, paid 10 000, enterprise 100 000. Repeated entries are allowed.',
    }),
    rules,
    ruleSet,
    callbackUrl,
    onUndetermined,
    consistency,
    proof,
    proofSeconds,
  })
  .meta({ id: 'BatchRequest', allOf: [exactlyOneOf('rules', 'ruleSet')] });

const BatchAcknowledgement = z
  .object({ requestId: RequestId, entries: z.number().int().positive() })
  .meta({ id: 'BatchAcknowledgement' });

const Status = BatchStatus.extend({
  requestId: RequestId,
  roles: z
    .array(RoleCounts)
    .meta({ description: 'Counts over the finished entries: one verdict per entry and role.' }),
}).meta({ id: 'BatchStatus' });

const { roles, errors, status, proof: jws } = CheckResult.shape;
const Line = z
  .object({
    index: z.number().int().nonnegative().meta({ description: 'Index of the entry in the batch, from 0.' }),
    account: z.string().optional(),
    accounts: z.array(z.string()).optional(),
    ref: z.string().optional(),
    status,
    roles,
    errors,
    blockNumbers: z
      .record(z.string(), z.number().int().nonnegative())
      .meta({ description: 'By chain id: the block at which the entry was read.' }),
    proof: jws,
  })
  .meta({ id: 'BatchLine' });

const NDJSON = {
  'application/x-ndjson': { schema: Line, examples: { lines: { value: BATCH_LINES_EXAMPLE } } },
};
const path = z.object({ requestId: z.string().meta({ minLength: 1 }) });
const statusContent = {
  'application/json': { schema: Status, examples: { completed: { value: BATCH_STATUS_EXAMPLE } } },
};

const startBatch: ZodOpenApiOperationObject = {
  operationId: 'startBatch',
  summary: 'Check many wallets against one list of rules',
  description:
    'As `application/json` at most 2 MiB. As `application/x-ndjson` at most 16 MiB: the first line is the object ' +
    'without `entries`, each further line is one entry of at most 8 KiB; blank lines are passed over. If one entry ' +
    'is not valid, the whole batch is refused. A batch counts as one request toward the rate, before its body is read, and as one check per entry ' +
    'toward the quota.',
  requestParams: { header: z.object({ 'Idempotency-Key': IDEMPOTENCY_KEY }) },
  requestBody: {
    required: true,
    content: {
      'application/json': { schema: BatchBody, examples: BATCH_EXAMPLES },
      'application/x-ndjson': { schema: z.string() },
    },
  },
  responses: {
    202: {
      description: 'The batch is accepted: all in-sync replicas of the broker have every part of it.',
      headers: acceptedHeaders('Where its status is.'),
      content: { 'application/json': { schema: BatchAcknowledgement } },
    },
    ...problems(OPERATION_CODES.startBatch),
  },
};

const readBatch: ZodOpenApiOperationObject = {
  operationId: 'readBatch',
  summary: 'Read the status of a batch',
  requestParams: { path, header: z.object({ Prefer: PREFER }) },
  responses: {
    200: {
      description:
        'The status. If not all of a batch could be published, it is abandoned after ten minutes: its entries without ' +
        'results are refunded, and the answer is 404. Sent again with the same `Idempotency-Key`, it continues.',
      headers: {
        ...SUCCESS_HEADERS,
        'Preference-Applied': header('The wait that was granted.', { type: 'string' }, false),
      },
      content: statusContent,
    },
    ...problems(OPERATION_CODES.readBatch),
  },
};

const readBatchResults: ZodOpenApiOperationObject = {
  operationId: 'readBatchResults',
  summary: 'Read the results of a batch, one line per entry',
  description:
    'In the order sent and without gaps, also while the batch runs. A line never changes. The answer is compressed ' +
    'if the client accepts gzip.',
  requestParams: {
    path,
    query: z.object({
      from: z.number().int().min(0).default(0).meta({ description: 'Index of the first entry, from 0.' }),
      limit: z.number().int().min(1).max(RESULTS_MAX).default(RESULTS_MAX),
    }),
  },
  responses: {
    200: {
      description: 'The finished entries from `from` on; empty if `from` is past the last entry.',
      headers: {
        ...SUCCESS_HEADERS,
        Link: header('`rel="next"`: the next page; absent after the last entry.', { type: 'string' }, false),
      },
      content: NDJSON,
    },
    202: {
      description: 'No entry from `from` on is finished yet.',
      headers: { ...SUCCESS_HEADERS, ...RETRY_AFTER },
      content: statusContent,
    },
    ...problems(OPERATION_CODES.readBatchResults),
  },
};

export const BATCH_PATHS = {
  [BATCH_PATH]: { post: startBatch },
  [`${BATCH_PATH}/{requestId}`]: { get: readBatch },
  [`${BATCH_PATH}/{requestId}/results`]: { get: readBatchResults },
} as const;

/** The webhook of a batch: its status, sent to the `callbackUrl`. */
export const BatchCompleted = Status.extend({ type: z.literal('batch.completed') }).meta({
  id: 'BatchCompleted',
});
