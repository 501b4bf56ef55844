import { z } from 'zod';
import { describeOperations, FaultBody } from '#shared/http/openapi.ts';
import type { ProblemCode } from '#shared/http/problem.ts';
import { permissionOf } from '../domain/permissions.ts';
import { isBudgeted } from './account-budget.ts';
import { IdempotencyKey, PathId } from './api.ts';
import { SESSION_COOKIE } from './guard.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

/** Every problem that an operation may answer with. */
export function codesOf(operation: Operation): ProblemCode[] {
  const { access, method, body, query, isIdempotent, isOpenWithoutTwoFactor, needs, codes = [] } = operation;
  return [
    ...codes,
    ...(operation.path.includes(':') ? (['not-found'] as const) : []),
    ...(access === 'public' ? [] : (['session-missing'] as const)),
    ...(access === 'public' || isOpenWithoutTwoFactor ? [] : (['two-factor-required'] as const)),
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
 * The OpenAPI 3.1 document of the portal's API, made of the schemas that validate requests and
 * answers.
 *
 * @example
 * JSON.stringify(makeOpenApi());
 */
export const makeOpenApi = () =>
  describeOperations<Operation>(
    OPERATIONS,
    {
      codesOf,
      securityOf: ({ access }) => (access === 'public' ? [] : [{ session: [] }]),
      headersOf: ({ isIdempotent, upload }) => ({
        ...(isIdempotent && {
          'Idempotency-Key': IdempotencyKey,
          ...(upload && { 'X-Api-Key': z.string() }),
        }),
      }),
      pathParam: PathId,
      problemMembersOf: () => ({ errors: z.array(FaultBody).optional() }),
    },
    {
      info: {
        title: "Rolecall's developer portal",
        description: "The operations behind the portal's page: accounts, client apps, deliveries and usage.",
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
    },
  );
