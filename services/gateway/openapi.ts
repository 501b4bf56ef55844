import { z } from 'zod';
import {
  type CreateDocumentOptions,
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi';
import { CHAINS_PATH, CHECK_PATH, RESPONSES_PATH } from '#shared/contracts/paths.ts';
import { CheckBody } from './api.ts';
import {
  Acknowledgement,
  ChainList,
  type Codes,
  describeCodes,
  FOLDING_RULE,
  OPERATION_CODES,
  Pending,
  problemSchema,
  RequestId,
  Result,
} from './api-answers.ts';
import { WAIT_SECONDS_MAX } from './domain/parse-prefer.ts';
import { CHECK_EXAMPLES, RESULT_EXAMPLE } from './openapi-examples.ts';

const header = (description: string, schema: object = { type: 'string' }, required = true) => ({
  description,
  required,
  schema: schema as { type: 'string' },
});

const VERSION = { 'Rolecall-Version': header('Version of this contract.', { type: 'string', const: '1' }) };
const LIMITS = {
  'RateLimit-Policy': header('The limits of the app: draft-ietf-httpapi-ratelimit-headers-10.'),
  RateLimit: header('What is left of them after this request.'),
  'X-RateLimit-Limit': header('Requests per second.', { type: 'string', pattern: '^[0-9]+$' }),
  'X-RateLimit-Remaining': header('Left in this second.', { type: 'string', pattern: '^[0-9]+$' }),
  'X-RateLimit-Reset': header('When the second is free again.', { type: 'string', format: 'date-time' }),
};
const ACCEPTED_AT = {
  'Rolecall-Accepted-At': header("When the limiter let the request in: ms of the limiter's clock.", {
    type: 'string',
    pattern: '^[0-9]+$',
  }),
};
const RETRY_AFTER = { 'Retry-After': header('Seconds to wait.', { type: 'string', pattern: '^[0-9]+$' }) };
const OPTIONAL_LIMITS = Object.fromEntries(
  Object.entries({ ...LIMITS, ...ACCEPTED_AT }).map(([name, value]) => [name, { ...value, required: false }]),
);

/** Which headers a problem carries beside the limits, by status. */
const PROBLEM_HEADERS: Readonly<Record<number, object>> = {
  401: {
    'WWW-Authenticate': header('`ApiKey realm="rolecall"`.'),
  },
  409: { ...LIMITS, ...ACCEPTED_AT, ...RETRY_AFTER },
  429: { ...OPTIONAL_LIMITS, ...RETRY_AFTER },
  503: { ...OPTIONAL_LIMITS, ...RETRY_AFTER },
};
/** Nobody was admitted there yet. */
const BEFORE_LIMITS = new Set([400, 401, 404, 408, 431, 500]);

function problems(codes: Codes): Record<string, ZodOpenApiResponseObject> {
  return Object.fromEntries(
    Object.entries(codes).map(([key, list]) => {
      const status = Number(key);
      const limits = BEFORE_LIMITS.has(status) ? OPTIONAL_LIMITS : { ...LIMITS, ...ACCEPTED_AT };
      const headers = { ...VERSION, ...(PROBLEM_HEADERS[status] ?? limits) };
      const content = { 'application/problem+json': { schema: problemSchema(status, list) } };
      return [key, { description: describeCodes(list), headers, content }];
    }),
  );
}

const SUCCESS_HEADERS = { ...VERSION, ...LIMITS, ...ACCEPTED_AT };
const PREFER = z
  .string()
  .optional()
  .meta({
    description: `\`wait=N\` waits for the result, at most ${WAIT_SECONDS_MAX} s.`,
    example: 'wait=20',
  });
const IDEMPOTENCY_KEY = z.string().optional().meta({
  description: 'Kept for 24 h: the same key and body give the same check. 1 to 255 visible ASCII characters.',
  minLength: 1,
  maxLength: 255,
  pattern: '^[\\u0021-\\u007e]+$',
  example: '5b2c1d0e-order-1',
});
const REPLAYED = header(
  '`true` where an earlier request with this key was answered again.',
  { type: 'string' },
  false,
);

const checkRoles: ZodOpenApiOperationObject = {
  operationId: 'checkRoles',
  summary: 'Check which roles an account holds the tokens for',
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
        'The result. Its `status` is `failed` where nothing was decided and no error is `retryable`: asking again ' +
        'would give the same.',
      headers: { ...SUCCESS_HEADERS, 'Idempotency-Replayed': REPLAYED },
      content: { 'application/json': { schema: Result, examples: { holder: { value: RESULT_EXAMPLE } } } },
    },
    202: {
      description: 'The check is accepted: all in-sync replicas of the broker have it.',
      headers: {
        ...SUCCESS_HEADERS,
        ...RETRY_AFTER,
        Location: header('Where the result will be.'),
        'Idempotency-Replayed': REPLAYED,
      },
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
      description: 'The result, also of a check that failed: the polling worked.',
      headers: {
        ...SUCCESS_HEADERS,
        'Preference-Applied': header('The wait that was granted.', { type: 'string' }, false),
      },
      content: { 'application/json': { schema: Result, examples: { holder: { value: RESULT_EXAMPLE } } } },
    },
    202: {
      description: 'Not there yet.',
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

const TEXT = z.string();
/** What a receiver gets: a result, at the `callbackUrl` of its check. */
const checkCompleted: ZodOpenApiOperationObject = {
  operationId: 'checkCompleted',
  summary: 'A check with a `callbackUrl` is completed',
  description: `Signed by Standard Webhooks; the body is the same on every attempt. ${FOLDING_RULE}`,
  security: [],
  requestParams: {
    header: z.object({
      'webhook-id': TEXT.meta({ description: 'The same on every attempt.' }),
      'webhook-timestamp': TEXT.meta({ description: 'Unix seconds of the attempt.' }),
      'webhook-signature': TEXT.meta({ description: 'Space-separated, the newest secret first.' }),
      'X-Service-Signature': TEXT.meta({ description: 'As `webhook-signature`.' }),
    }),
  },
  requestBody: {
    required: true,
    content: { 'application/json': { schema: Result, examples: { holder: { value: RESULT_EXAMPLE } } } },
  },
  responses: {
    '2XX': { description: 'Delivered. Answer within 15 seconds and work later.' },
    410: { description: 'No further attempt.' },
    default: { description: 'Another attempt follows.' },
  },
};

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

/**
 * The OpenAPI 3.1 document, made of the schemas that validate requests and answers.
 *
 * @param publicBaseUrl where the gateway is reached, without a slash at its end; empty for this very host.
 * @example
 * JSON.stringify(makeOpenApi('https://api.example.com'));
 */
export function makeOpenApi(publicBaseUrl: string) {
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Rolecall',
        version: '1.0.0',
        description: 'Which of these roles does this wallet hold the tokens for?',
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
        [CHAINS_PATH]: { get: listChains },
      },
      webhooks: { checkCompleted: { post: checkCompleted } },
    },
    { override: openAnswers },
  );
}

/** Answers may gain members (the contract is additive), so no answer's schema is closed. */
const openAnswers: NonNullable<CreateDocumentOptions['override']> = ({ jsonSchema, io }) => {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
};
