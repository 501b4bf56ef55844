import { z } from 'zod';
import type { ZodOpenApiHeadersObject } from 'zod-openapi';
import type { KeyPermission } from '#shared/contracts/apps/client-app.ts';
import type { Answer, BaseOperation, Examples } from '#shared/http/operation.ts';
import { PROBLEMS, type ProblemCode } from '#shared/http/problem.ts';
import { WAIT_SECONDS_MAX } from './parse-prefer.ts';

/** The callers that may use an operation: all, those with any key of a client app whose scope is
 * approved, or those whose key has this permission too. */
export type Access = 'public' | 'any-key' | KeyPermission;

export type Operation = BaseOperation<Access> & {
  /** Whether it follows AuthZEN: faults of the body are 400, and the key may be a bearer token. */
  readonly isAuthzen?: true;
};

const OF_KEYS = [
  'malformed-request',
  'api-key-missing',
  'api-key-invalid',
  'scope-not-approved',
  'client-app-suspended',
  'request-timeout',
  'rate-limited',
  'headers-too-large',
  'internal',
  'dependency-unavailable',
  'overloaded',
] as const satisfies readonly ProblemCode[];

/** Every problem that an operation may answer with; the tests reach each of them. */
export const codesOf = ({ access, path, query, body, codes = [], isAuthzen }: Operation): ProblemCode[] => [
  ...(access === 'public' ? [] : OF_KEYS),
  ...(access === 'public' || access === 'any-key' ? [] : (['permission-missing'] as const)),
  ...(path.includes(':') ? (['route-not-found'] as const) : []),
  ...(query || body ? (['validation-failed'] as const) : []),
  ...(body ? (['malformed-json', 'body-too-large'] as const) : []),
  ...(body && !isAuthzen ? (['media-type-unsupported'] as const) : []),
  ...codes,
];

/** The codes of rules, wherever they are sent. */
export const RULE_CODES = [
  'rule-type-unsupported',
  'function-unsupported',
  'chain-unsupported',
  'min-token-zero',
  'too-many-reads',
] as const satisfies readonly ProblemCode[];

/** The codes of a check, alone or as the head of a batch. */
export const CHECK_CODES = [
  ...RULE_CODES,
  'account-format-unsupported',
  'rule-set-unknown',
  'proof-unavailable',
  'callback-url-refused',
  'idempotency-key-in-use',
  'idempotency-key-reused',
  'monthly-quota-exceeded',
] as const satisfies readonly ProblemCode[];

export const header = (
  description: string,
  {
    required = true,
    ...schema
  }: { required?: boolean; pattern?: string; format?: string; const?: string } = {},
) => ({ description, required, schema: { type: 'string', ...schema } as const });

const DIGITS = { pattern: '^[0-9]+$' };
const VERSION = { 'Rolecall-Version': header('Version of this contract.', { const: '1' }) };
const LIMITS = {
  'RateLimit-Policy': header('The limits of the app: draft-ietf-httpapi-ratelimit-headers-10.'),
  RateLimit: header('What is left of them after this request.'),
  'X-RateLimit-Limit': header('Requests per second.', DIGITS),
  'X-RateLimit-Remaining': header('Left in this second.', DIGITS),
  'X-RateLimit-Reset': header('When the second is free again.', { format: 'date-time' }),
  'Rolecall-Accepted-At': header("When the limiter let the request in: ms of the limiter's clock.", DIGITS),
};
export const REQUEST_ID_ECHO = {
  'X-Request-ID': header('That of the request.', { required: false }),
};
export const RETRY_AFTER = { 'Retry-After': header('Seconds to wait.', DIGITS) };
const OPTIONAL_LIMITS = Object.fromEntries(
  Object.entries(LIMITS).map(([name, value]) => [name, { ...value, required: false }]),
);

/** Statuses of answers before the limits were checked. */
const BEFORE_LIMITS = new Set([400, 401, 404, 408, 431, 500]);

export function statusOf(code: ProblemCode, { isAuthzen }: Pick<Operation, 'isAuthzen'>): number {
  const { status } = PROBLEMS[code];
  return isAuthzen && status === 422 ? 400 : status;
}

export function problemHeadersOf(status: number, { isAuthzen }: Operation): ZodOpenApiHeadersObject {
  const headers = commonProblemHeadersOf(status);
  if (!isAuthzen) return headers;
  // Without it where another try would not help.
  const retry = status === 503 && { 'Retry-After': { ...RETRY_AFTER['Retry-After'], required: false } };
  const challenge = status === 401 && {
    'WWW-Authenticate': header('`ApiKey realm="rolecall", Bearer realm="rolecall"`.'),
  };
  return { ...headers, ...retry, ...challenge, ...REQUEST_ID_ECHO };
}

function commonProblemHeadersOf(status: number): ZodOpenApiHeadersObject {
  if (status === 401) return { ...VERSION, 'WWW-Authenticate': header('`ApiKey realm="rolecall"`.') };
  if (status === 409)
    return { ...SUCCESS_HEADERS, 'Retry-After': { ...RETRY_AFTER['Retry-After'], required: false } };
  if (status === 429 || status === 503) return { ...VERSION, ...OPTIONAL_LIMITS, ...RETRY_AFTER };
  return { ...VERSION, ...(BEFORE_LIMITS.has(status) ? OPTIONAL_LIMITS : LIMITS) };
}

export const SUCCESS_HEADERS = { ...VERSION, ...LIMITS };

export const json = (
  description: string,
  schema: z.ZodType,
  { headers = {}, examples }: { headers?: ZodOpenApiHeadersObject; examples?: Examples } = {},
): Answer => ({
  description,
  schema,
  headers: { ...SUCCESS_HEADERS, ...headers },
  ...(examples && { examples }),
});

export const nothing = (description: string): Answer => ({ description, headers: SUCCESS_HEADERS });

export const PREFER = {
  Prefer: z
    .string()
    .optional()
    .meta({
      description: `\`wait=N\` waits for the result, at most ${WAIT_SECONDS_MAX} s.`,
      example: 'wait=20',
    }),
};
export const PREFERENCE_APPLIED = {
  'Preference-Applied': header('The wait that was granted.', { required: false }),
};
export const IDEMPOTENCY_KEY = {
  'Idempotency-Key': z
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
    }),
};
export const REPLAYED = {
  'Idempotency-Replayed': header(
    '`true` if this answer is for the check of an earlier request with the same key.',
    { required: false },
  ),
};

export const ETAG = { ETag: header('The version in quotes, for `If-Match`.', { pattern: '^"[0-9]+"$' }) };
export const PRECONDITIONS = {
  'If-Match': z
    .string()
    .optional()
    .meta({ description: 'Write only over this version, else 412.', example: '"3"' }),
  'If-None-Match': z
    .string()
    .optional()
    .meta({ description: '`*` writes only if there is none, else 412.', example: '*' }),
};
