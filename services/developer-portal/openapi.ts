import { z } from 'zod';
import {
  type CreateDocumentOptions,
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import { permissionOf } from './domain/permissions.ts';
import { isBudgeted } from './http/account-budget.ts';
import { IdempotencyKey, PathId } from './http/api.ts';
import { SESSION_COOKIE } from './http/guard.ts';
import { PROBLEMS, type ProblemCode, typeOf } from './http/problem.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

const FaultBody = z
  .object({
    pointer: z.string().meta({ description: 'RFC 6901, into the body.' }),
    code: z.string(),
    detail: z.string(),
  })
  .meta({ id: 'Fault' });

/** RFC 9457. */
function problemSchema(codes: readonly ProblemCode[]) {
  const [first = 'internal', ...rest] = codes;
  return z.object({
    type: z.enum([typeOf(first), ...rest.map(typeOf)]),
    title: z.string(),
    status: z.literal(PROBLEMS[first].status),
    detail: z.string(),
    instance: z.string(),
    code: z.enum([first, ...rest]),
    errors: z.array(FaultBody).optional(),
  });
}

/** Every problem that an operation may answer with. */
export function codesOf(operation: Operation): ProblemCode[] {
  const { access, method, body, query, isIdempotent, needs, codes } = operation;
  return [
    ...codes,
    ...(access === 'public' ? [] : (['session-missing'] as const)),
    ...(access === 'operator' ? (['operator-required'] as const) : []),
    ...(method === 'get' ? [] : (['origin-refused'] as const)),
    ...(permissionOf(operation) ? (['role-required'] as const) : []),
    ...(needs ? (['client-app-suspended'] as const) : []),
    ...(needs === 'approved' ? (['scope-not-approved'] as const) : []),
    ...(isBudgeted(operation) ? (['rate-limited'] as const) : []),
    ...(isIdempotent ? (['idempotency-key-missing', 'idempotency-key-reused'] as const) : []),
    ...(body
      ? ([
          'malformed-json',
          'request-timeout',
          'media-type-unsupported',
          'body-too-large',
          'validation-failed',
        ] as const)
      : []),
    ...(query ? (['validation-failed'] as const) : []),
    'internal',
    'dependency-unavailable',
    'overloaded',
  ];
}

/**
 * The OpenAPI 3.1 document of the portal's API, made of the schemas that validate requests and answers.
 *
 * @example
 * JSON.stringify(makeOpenApi());
 */
export function makeOpenApi() {
  const paths: Record<string, ZodOpenApiPathsObject[string]> = {};
  for (const [operationId, operation] of Object.entries(OPERATIONS)) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.method]: describe(operationId, operation) };
  }
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: "Rolecall's developer portal",
        version: '1.0.0',
        description: "The operations behind the portal's page: accounts, client apps, deliveries and usage.",
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/' }],
      components: {
        securitySchemes: {
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: SESSION_COOKIE,
            description: `Over TLS its name is \`__Host-${SESSION_COOKIE}\`.`,
          },
        },
      },
      paths,
    },
    { override: openAnswers },
  );
}

function describe(operationId: string, operation: Operation): ZodOpenApiOperationObject {
  const names = [...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');
  const params = z.object(Object.fromEntries(names.map((name) => [name, PathId])));
  const { answer, body, query, upload, download } = operation;
  return {
    operationId,
    summary: operation.summary,
    security: operation.access === 'public' ? [] : [{ session: [] }],
    requestParams: {
      ...(names.length > 0 && { path: params }),
      ...(query instanceof z.ZodObject && { query }),
      ...(operation.isIdempotent && {
        header: z.object({ 'Idempotency-Key': IdempotencyKey, ...(upload && { 'X-Api-Key': z.string() }) }),
      }),
    },
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    ...(upload && { requestBody: { required: true, content: { [upload]: { schema: z.string() } } } }),
    responses: {
      [`${operation.status}`]: {
        description: operation.summary,
        ...(answer && { content: { 'application/json': { schema: answer } } }),
        ...(download && {
          content: Object.fromEntries(download.map((type) => [type, { schema: z.string() }])),
        }),
      },
      ...problems(codesOf(operation)),
    },
  };
}

function problems(codes: readonly ProblemCode[]) {
  const byStatus = Map.groupBy(new Set(codes), (code) => PROBLEMS[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => [
      `${status}`,
      {
        description: list.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
        content: { 'application/problem+json': { schema: problemSchema(list) } },
      },
    ]),
  );
}

/** Answers may gain members, so no answer's schema is closed. */
const openAnswers: NonNullable<CreateDocumentOptions['override']> = ({ jsonSchema, io }) => {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
};
