import { z } from 'zod';
import { RoleCounts } from '#shared/contracts/batches/batch.ts';
import { BatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { CheckResult, RuleFault } from '#shared/contracts/checks/result.ts';
import { BATCH_PATH } from '#shared/contracts/paths.ts';
import { RequestId } from '../checks/answers.ts';
import { CheckBody, exactlyOneOf } from '../checks/check-body.ts';
import { BATCH_EXAMPLES, BATCH_LINES_EXAMPLE, BATCH_STATUS_EXAMPLE } from '../docs/examples.ts';
import {
  CHECK_CODES,
  header,
  IDEMPOTENCY_KEY,
  json,
  type Operation,
  PREFER,
  PREFERENCE_APPLIED,
  REPLAYED,
  RETRY_AFTER,
  SUCCESS_HEADERS,
} from '../edge/operation.ts';
import { EntryBody } from './validate-entry.ts';

// `BatchBody` only describes: a batch of 100 000 entries is validated as it arrives
// (`collect-batch.ts`).

const { ruleSet, rules, callbackUrl, onUndetermined, consistency, explain } = CheckBody.shape;
const { proof, proofSeconds, proofAlg } = CheckBody.shape;
export const BatchBody = z
  .strictObject({
    entries: z.array(EntryBody).min(1).optional().meta({
      description: 'Free tier at most 1 000, paid 10 000, enterprise 100 000. Repeated entries are allowed.',
    }),
    watch: z
      .string()
      .optional()
      .meta({
        description:
          'Instead of `entries`: the id of a watch, whose members are the entries. Each line tells what it would change; ' +
          'nothing is sent but the message of the batch, and no member changes. Only as `application/json`.',
      }),
    rules,
    ruleSet,
    callbackUrl,
    onUndetermined,
    consistency,
    explain,
    proof,
    proofSeconds,
    proofAlg,
  })
  .meta({
    id: 'BatchRequest',
    allOf: [exactlyOneOf('entries', 'watch'), exactlyOneOf('rules', 'ruleSet')],
  });

const BatchAcknowledgement = z
  .object({ requestId: RequestId, entries: z.number().int().positive() })
  .meta({ id: 'BatchAcknowledgement' });

const Status = BatchStatus.extend({
  requestId: RequestId,
  roles: z.array(RoleCounts).meta({
    description:
      'Counts over the finished entries: one verdict per entry and role. In a preview of a watch also how many members ' +
      'would gain and lose the role.',
  }),
}).meta({ id: 'BatchStatus' });

const { roles, status, details, proof: jws } = CheckResult.shape;
const errors = z.array(RuleFault);
const Line = z
  .object({
    index: z.number().int().nonnegative().meta({ description: 'Index of the entry in the batch, from 0.' }),
    account: z.string().optional(),
    accounts: z.array(z.string()).optional(),
    ref: z.string().optional(),
    before: z
      .record(z.string(), z.boolean())
      .optional()
      .meta({ description: 'In a preview of a watch: the last verdicts of the member, by role id.' }),
    status,
    roles,
    errors,
    blockNumbers: z
      .record(z.string(), z.number().int().nonnegative())
      .meta({ description: 'By chain id: the block at which the entry was read.' }),
    details,
    proof: jws,
  })
  .meta({ id: 'BatchLine' });

/** The webhook of a batch: its status, sent to the `callbackUrl`. */
export const BatchCompleted = Status.extend({ type: z.literal('batch.completed') }).meta({
  id: 'BatchCompleted',
});

/** Lines of one answer. */
export const RESULTS_MAX = 10_000;
const BATCH = `${BATCH_PATH}/:requestId`;
const params = { requestId: z.string().meta({ minLength: 1 }) };
const STATUS = { completed: { value: BATCH_STATUS_EXAMPLE } };

export const BATCH_OPERATIONS = {
  startBatch: {
    method: 'post',
    path: BATCH_PATH,
    access: 'check',
    summary: 'Check many wallets against one list of rules',
    description:
      'As `application/json` at most 2 MiB. As `application/x-ndjson` at most 16 MiB: the first line is the object ' +
      'without `entries`, each further line is one entry of at most 8 KiB; blank lines are skipped. If one entry ' +
      'is not valid, the whole batch is refused. A batch counts as one request toward the rate, before its body is read, and as one check per entry ' +
      'toward the quota.',
    headers: IDEMPOTENCY_KEY,
    body: BatchBody,
    bodyExamples: BATCH_EXAMPLES,
    upload: 'application/x-ndjson',
    answers: {
      202: json(
        'The batch is accepted: all in-sync replicas of the broker have every part of it.',
        BatchAcknowledgement,
        { headers: { ...RETRY_AFTER, Location: header('Where its status is.'), ...REPLAYED } },
      ),
    },
    codes: [
      'body-timeout',
      'limit-reached',
      'too-many-entries',
      'batch-too-large',
      'watch-unknown',
      ...CHECK_CODES,
    ],
  },
  readBatch: {
    method: 'get',
    path: BATCH,
    access: 'check',
    summary: 'Read the status of a batch',
    params,
    headers: PREFER,
    answers: {
      200: json(
        'The status. If not all of a batch could be published, it is abandoned after ten minutes: its entries without ' +
          'results are refunded, and the answer is 404. Sent again with the same `Idempotency-Key`, it continues.',
        Status,
        { headers: PREFERENCE_APPLIED, examples: STATUS },
      ),
    },
    codes: ['request-not-found', 'request-expired'],
  },
  readBatchResults: {
    method: 'get',
    path: `${BATCH}/results`,
    access: 'check',
    summary: 'Read the results of a batch, one line per entry',
    description:
      'In the order sent and without gaps, also while the batch runs. A line never changes. The answer is compressed ' +
      'if the client accepts gzip.',
    params,
    query: z.object({
      from: z
        .number({ error: 'must be a whole number from 0' })
        .int()
        .min(0)
        .default(0)
        .meta({ description: 'Index of the first entry, from 0.' }),
      limit: z
        .number({ error: `must be a whole number from 1 to ${RESULTS_MAX}` })
        .int()
        .min(1)
        .max(RESULTS_MAX)
        .default(RESULTS_MAX),
    }),
    answers: {
      200: {
        description: 'The finished entries from `from` on; empty if `from` is past the last entry.',
        schema: Line,
        mediaType: 'application/x-ndjson',
        headers: {
          ...SUCCESS_HEADERS,
          Link: header('`rel="next"`: the next page; absent after the last entry.', { required: false }),
        },
        examples: { lines: { value: BATCH_LINES_EXAMPLE } },
      },
      202: json('No entry from `from` on is finished yet.', Status, {
        headers: RETRY_AFTER,
        examples: STATUS,
      }),
    },
    codes: ['request-not-found', 'request-expired'],
  },
} as const satisfies Record<string, Operation>;
