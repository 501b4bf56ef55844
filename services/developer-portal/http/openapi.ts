import { z } from 'zod';
import { describeOperations, FaultBody } from '#shared/http/openapi.ts';
import type { ProblemCode } from '#shared/http/problem.ts';
import { permissionOf } from '../domain/permissions.ts';
import { isBudgeted } from './account-budget.ts';
import { IdempotencyKey, PathId } from './api.ts';
import { SESSION_COOKIE } from './guard.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

/** The problems that follow from what an operation is. */
const RULES: readonly [of: (operation: Operation) => unknown, codes: readonly ProblemCode[]][] = [
  [({ path }) => path.includes(':'), ['not-found']],
  [({ access }) => access !== 'public', ['session-missing']],
  [
    ({ access, isOpenWithoutTwoFactor }) => access !== 'public' && !isOpenWithoutTwoFactor,
    ['two-factor-required'],
  ],
  [({ access }) => access === 'operator', ['operator-required']],
  [({ method }) => method !== 'get', ['origin-refused']],
  [permissionOf, ['role-required']],
  [({ needs }) => needs, ['client-app-suspended']],
  [({ needs }) => needs === 'approved', ['scope-not-approved']],
  [isBudgeted, ['rate-limited']],
  [({ isIdempotent }) => isIdempotent, ['idempotency-key-missing', 'idempotency-key-reused']],
  [({ body }) => body, ['malformed-json', 'request-timeout', 'media-type-unsupported', 'body-too-large']],
  [({ body, query }) => body ?? query, ['validation-failed']],
  [() => true, ['internal', 'dependency-unavailable', 'overloaded']],
];

/** Every problem that an operation may answer with. */
export const codesOf = (operation: Operation): ProblemCode[] => [
  ...(operation.codes ?? []),
  ...RULES.flatMap(([isOf, codes]) => (isOf(operation) ? codes : [])),
];

/**
 * The OpenAPI 3.1 document of the portal's API, made of the schemas that validate requests and
 * answers.
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
