import { z } from 'zod';
import { type CreateDocumentOptions, createDocument, type ZodOpenApiOperationObject } from 'zod-openapi';
import { CHAINS_PATH, CHECK_PATH, RESPONSES_PATH } from '#shared/contracts/paths.ts';
import { QuotaAlert } from '#shared/contracts/usage/quota-alert.ts';
import { TestEvent } from '#shared/contracts/webhooks/test-event.ts';
import { CheckBody } from '../../checks/api.ts';
import {
  Acknowledgement,
  ChainList,
  FOLDING_RULE,
  OPERATION_CODES,
  Pending,
  RequestId,
  Result,
} from './api-answers.ts';
import { BATCH_PATHS, BatchCompleted } from './batches.ts';
import {
  BATCH_STATUS_EXAMPLE,
  CHECK_EXAMPLES,
  QUOTA_ALERT_EXAMPLE,
  RESULT_EXAMPLE,
  TEST_EVENT_EXAMPLE,
} from './examples.ts';
import {
  acceptedHeaders,
  header,
  IDEMPOTENCY_KEY,
  PREFER,
  problems,
  REPLAYED,
  RETRY_AFTER,
  SUCCESS_HEADERS,
} from './parts.ts';
import { RULE_SET_PATHS } from './rule-sets.ts';
import { withoutUnusedOutputs } from './unused.ts';
import { WATCH_PATHS, WATCH_WEBHOOKS } from './watches.ts';
import { webhook } from './webhooks.ts';

const checkRoles: ZodOpenApiOperationObject = {
  operationId: 'checkRoles',
  summary: 'Check which roles an account has',
  description:
    'Without `async` and `callbackUrl` the answer is the result. With `async: true` it is an acknowledgement, and ' +
    'the result is polled. With `callbackUrl` it is also sent there, signed by Standard Webhooks. ' +
    FOLDING_RULE,
  requestParams: { header: z.object({ 'Idempotency-Key': IDEMPOTENCY_KEY }) },
  requestBody: {
    required: true,
    content: { 'application/json': { schema: CheckBody, examples: CHECK_EXAMPLES } },
  },
  responses: {
    200: {
      description:
        'The result. Its `status` is `failed` if nothing was decided and no error is `retryable`, so that another try ' +
        'would give the same result.',
      headers: { ...SUCCESS_HEADERS, 'Idempotency-Replayed': REPLAYED },
      content: { 'application/json': { schema: Result, examples: { holder: { value: RESULT_EXAMPLE } } } },
    },
    202: {
      description: 'The check is accepted: all in-sync replicas of the broker have it.',
      headers: acceptedHeaders('Where the result will be.'),
      content: { 'application/json': { schema: Acknowledgement } },
    },
    ...problems(OPERATION_CODES.checkRoles),
  },
};

const readResponse: ZodOpenApiOperationObject = {
  operationId: 'readResponse',
  summary: 'Read the result of a check',
  requestParams: {
    path: z.object({ requestId: z.string().meta({ minLength: 1 }) }),
    header: z.object({ Prefer: PREFER }),
  },
  responses: {
    200: {
      description: 'The result, also if the check failed, because the poll succeeded.',
      headers: {
        ...SUCCESS_HEADERS,
        'Preference-Applied': header('The wait that was granted.', { type: 'string' }, false),
      },
      content: { 'application/json': { schema: Result, examples: { holder: { value: RESULT_EXAMPLE } } } },
    },
    202: {
      description: 'The result is not available yet.',
      headers: {
        ...SUCCESS_HEADERS,
        ...RETRY_AFTER,
        'Preference-Applied': header('The wait that was granted.', { type: 'string' }, false),
      },
      content: { 'application/json': { schema: Pending } },
    },
    ...problems(OPERATION_CODES.readResponse),
  },
};

/** The webhook of a check: its result, sent to the `callbackUrl`. */
const checkCompleted = webhook({
  operationId: 'checkCompleted',
  summary: 'A check with a `callbackUrl` is completed',
  description: `Signed by Standard Webhooks; the body is the same on every attempt. ${FOLDING_RULE}`,
  schema: Result,
  examples: { holder: { value: RESULT_EXAMPLE } },
});

const quotaThreshold = webhook({
  operationId: 'quotaThreshold',
  summary: "80 % or 100 % of an app's monthly quota is used",
  description: 'Sent once per month and threshold to the alert URL of the app, within two minutes.',
  schema: QuotaAlert.meta({ id: 'QuotaAlert' }),
  examples: { nearly: { value: QUOTA_ALERT_EXAMPLE } },
});

const batchCompleted = webhook({
  operationId: 'batchCompleted',
  summary: 'A batch with a `callbackUrl` is completed',
  description: 'Sent once, when the last entry is finished. Signed by Standard Webhooks.',
  schema: BatchCompleted,
  examples: { members: { value: { type: 'batch.completed', ...BATCH_STATUS_EXAMPLE } } },
});

const testEvent = webhook({
  operationId: 'testEvent',
  summary: 'A test event is requested in the portal',
  description:
    'Signed by Standard Webhooks, with the same attempts as every webhook. Its lists are empty: change nothing.',
  schema: TestEvent.meta({ id: 'TestEvent' }),
  examples: { test: { value: TEST_EVENT_EXAMPLE } },
});

const listChains: ZodOpenApiOperationObject = {
  operationId: 'listChains',
  summary: 'List the chains that a rule may name',
  responses: {
    200: {
      description: 'The configured chains.',
      headers: SUCCESS_HEADERS,
      content: { 'application/json': { schema: ChainList } },
    },
    ...problems(OPERATION_CODES.listChains),
  },
};

export const OPENAPI_PATH = '/openapi.json';

const readKeys: ZodOpenApiOperationObject = {
  operationId: 'readKeys',
  summary: 'Read the public keys of signed verdicts',
  description: 'A JWK set (RFC 7517). It needs no API key; keep it for 5 minutes.',
  security: [],
  responses: {
    200: {
      description: 'The keys.',
      content: {
        'application/json': {
          schema: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).meta({ id: 'KeySet' }),
        },
      },
    },
  },
};

/**
 * The OpenAPI 3.1 document, made of the schemas that validate requests and answers.
 *
 * @param publicBaseUrl where the gateway is reached, without a slash at its end; empty for this very host.
 * @example
 * JSON.stringify(makeOpenApi('https://api.example.com'));
 */
export function makeOpenApi(publicBaseUrl: string) {
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Rolecall',
        version: '1.0.0',
        description: 'Given a wallet and a list of token rules, which roles does it have?',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicBaseUrl === '' ? '/' : publicBaseUrl }],
      security: [{ apiKey: [] }],
      components: {
        securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' } },
        schemas: { RequestId },
      },
      paths: {
        [CHECK_PATH]: { post: checkRoles },
        [`${RESPONSES_PATH}{requestId}`]: { get: readResponse },
        ...BATCH_PATHS,
        [CHAINS_PATH]: { get: listChains },
        ...RULE_SET_PATHS,
        ...WATCH_PATHS,
        '/.well-known/jwks.json': { get: readKeys },
      },
      webhooks: {
        checkCompleted: { post: checkCompleted },
        batchCompleted: { post: batchCompleted },
        quotaThreshold: { post: quotaThreshold },
        ...WATCH_WEBHOOKS,
        testEvent: { post: testEvent },
      },
    },
    { override: openAnswers },
  );
  return withoutUnusedOutputs(document);
}

/** Answers may gain members (the contract is additive), so no answer's schema is closed. */
const openAnswers: NonNullable<CreateDocumentOptions['override']> = ({ jsonSchema, io }) => {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
};
