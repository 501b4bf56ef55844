import { z } from 'zod';
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { PAGE_COUNT_DEFAULT, PAGE_COUNT_MAX } from '../../edge/parse-page.ts';
import { WAIT_SECONDS_MAX } from '../../edge/parse-prefer.ts';
import { type Codes, describeCodes, problemSchema } from './api-answers.ts';

// Parts that the operations of the OpenAPI document share.

/** A header of a response. */
export const header = (description: string, schema: object = { type: 'string' }, required = true) => ({
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
export const RETRY_AFTER = {
  'Retry-After': header('Seconds to wait.', { type: 'string', pattern: '^[0-9]+$' }),
};
const OPTIONAL_LIMITS = Object.fromEntries(
  Object.entries({ ...LIMITS, ...ACCEPTED_AT }).map(([name, value]) => [name, { ...value, required: false }]),
);

/** Which headers a problem carries beside the limits, by status. */
const PROBLEM_HEADERS: Readonly<Record<number, object>> = {
  401: {
    'WWW-Authenticate': header('`ApiKey realm="rolecall"`.'),
  },
  409: { ...LIMITS, ...ACCEPTED_AT, 'Retry-After': { ...RETRY_AFTER['Retry-After'], required: false } },
  429: { ...OPTIONAL_LIMITS, ...RETRY_AFTER },
  503: { ...OPTIONAL_LIMITS, ...RETRY_AFTER },
};
/** Statuses of answers before the limits were checked. */
const BEFORE_LIMITS = new Set([400, 401, 404, 408, 431, 500]);

/** The problems of an operation as its responses. */
export function problems(codes: Codes): Record<string, ZodOpenApiResponseObject> {
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

/** The headers of every answer that is not a problem. */
export const SUCCESS_HEADERS = { ...VERSION, ...LIMITS, ...ACCEPTED_AT };

export const PREFER = z
  .string()
  .optional()
  .meta({
    description: `\`wait=N\` waits for the result, at most ${WAIT_SECONDS_MAX} s.`,
    example: 'wait=20',
  });
export const IDEMPOTENCY_KEY = z
  .string()
  .optional()
  .meta({
    description:
      'Kept for 24 h: the same key and body give the same check, unless the first was a sync check without a usable result. ' +
      '1 to 255 visible ASCII characters.',
    minLength: 1,
    maxLength: 255,
    pattern: '^[\\u0021-\\u007e]+$',
    example: '5b2c1d0e-order-1',
  });
export const REPLAYED = header(
  '`true` if this answer is for the check of an earlier request with the same key.',
  { type: 'string' },
  false,
);

export const ETAG = {
  ETag: header('The version in quotes, for `If-Match`.', { type: 'string', pattern: '^"[0-9]+"$' }),
};
export const PRECONDITIONS = z.object({
  'If-Match': z
    .string()
    .optional()
    .meta({ description: 'Write only over this version, else 412.', example: '"3"' }),
  'If-None-Match': z
    .string()
    .optional()
    .meta({ description: '`*` writes only if there is none, else 412.', example: '*' }),
});

/** The headers of an acknowledgement. */
export const acceptedHeaders = (location: string) => ({
  ...SUCCESS_HEADERS,
  ...RETRY_AFTER,
  Location: header(location),
  'Idempotency-Replayed': REPLAYED,
});

/** The query of a list. An empty value counts as absent. */
export const pageOf = (after: z.ZodType) =>
  z.object({
    limit: z
      .union([z.number().int().min(1).max(PAGE_COUNT_MAX), z.literal('')])
      .default(PAGE_COUNT_DEFAULT)
      .meta({ description: 'How many entries at most; an empty value counts as absent.' }),
    after: z
      .union([after, z.literal('')])
      .optional()
      .meta({ description: 'The `next` of the page before; an empty value counts as absent.' }),
  });
