import { z } from 'zod';
import { CheckResult, RoleVerdict, RuleFault } from '#shared/contracts/checks/result.ts';
import { OnUndetermined } from '#shared/contracts/rules/rule.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';
import { RuleBody } from '#shared/rules/rule-body.ts';
import { PROBLEMS, type ProblemCode, typeOf } from '../../edge/problem.ts';

/** The answers as clients read them. Tests compare sent answers with these; the OpenAPI document is made of them. */

export const RequestId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/)
  .meta({ description: 'Opaque and URL-safe.', example: 'AQIBofwEwmibyuoaXYj9AIDX34EW0VVy3Lod1f4H' });

export const Acknowledgement = z.object({ requestId: RequestId }).meta({ id: 'Acknowledgement' });

export const Pending = z
  .object({
    requestId: RequestId,
    status: z.literal('pending'),
    // Empty, and typed as those of a result: generated clients then read both answers alike.
    roles: z.array(RoleVerdict).max(0),
    errors: z.array(RuleFault).max(0),
  })
  .meta({ id: 'Pending' });

/** Part of the descriptions of results, because one entry does not decide its role. */
export const FOLDING_RULE =
  'Several rules may name one role: it is held if any of them is granted, undetermined if none is granted and any is ' +
  'in `errors`, and otherwise not held.';

export const Result = CheckResult.meta({
  id: 'CheckResult',
  description: `One shape for sync, poll and webhook. A rule that could not be read is in \`errors\` and not in \`roles\`. ${FOLDING_RULE}`,
});

export const ChainList = z
  .object({
    chains: z.array(
      z.object({ chainId: z.number().int().positive(), name: z.string(), nativeSymbol: z.string() }),
    ),
  })
  .meta({ id: 'ChainList' });

export const RuleSetAnswer = z
  .object({
    ruleSetId: z.string().regex(RULE_SET_ID),
    version: z
      .number()
      .int()
      .positive()
      .meta({ description: 'Counts changes of `rules` and `onUndetermined`.' }),
    digest: z
      .string()
      .meta({ description: 'SHA-256 over the canonical JSON (RFC 8785) of `{ onUndetermined, rules }`.' }),
    name: z.string().optional(),
    rules: z.array(RuleBody).meta({ description: 'As they were sent.' }),
    onUndetermined: OnUndetermined,
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'RuleSet' });

export const RuleSetList = z
  .object({
    ruleSets: z.array(RuleSetAnswer),
    next: z
      .string()
      .optional()
      .meta({ description: 'Send it as `after` for the next page; absent on the last.' }),
  })
  .meta({ id: 'RuleSetList' });

const FaultBody = z
  .object({
    pointer: z
      .string()
      .meta({ description: 'RFC 6901, into the body as it was sent; empty for the body as a whole.' }),
    code: z.string(),
    detail: z.string(),
  })
  .meta({ id: 'Fault' });

const EXTRA_MEMBERS = {
  409: {},
  410: { requestId: RequestId },
  422: { errors: z.array(FaultBody) },
  429: {
    'violated-policies': z
      .array(z.enum(['per-second', 'per-second-poll', 'per-month', 'bytes-per-day', 'writes-per-day']))
      .meta({ description: '`per-second` also if an address has sent too many failed keys.' }),
  },
  503: { requestId: RequestId.optional(), errors: z.array(RuleFault).optional() },
  504: { requestId: RequestId },
} as const;

/** RFC 9457, with the members that a status adds. */
export function problemSchema(status: number, codes: readonly [ProblemCode, ...ProblemCode[]]) {
  const extra = status in EXTRA_MEMBERS ? EXTRA_MEMBERS[status as keyof typeof EXTRA_MEMBERS] : {};
  const types = [...new Set(codes.map(typeOf))] as [string, ...string[]];
  return z.object({
    type: z.enum(types),
    title: z.string(),
    status: z.literal(status),
    detail: z.string(),
    instance: z.string(),
    code: z.enum(codes),
    ...extra,
  });
}

/** The codes that an operation may answer with, by status. */
export type Codes = Readonly<Record<number, readonly [ProblemCode, ...ProblemCode[]]>>;

const ON_EVERY_OPERATION: Codes = {
  400: ['malformed-request'],
  401: ['api-key-missing', 'api-key-invalid'],
  403: ['scope-not-approved', 'client-app-suspended'],
  408: ['request-timeout'],
  429: ['rate-limited'],
  431: ['headers-too-large'],
  500: ['internal'],
  503: ['dependency-unavailable', 'overloaded'],
};

/** The fault codes of rules, wherever they are sent. */
const RULE_CODES = [
  'rule-type-unsupported',
  'function-unsupported',
  'chain-unsupported',
  'min-token-zero',
  'too-many-reads',
] as const;
/** The fault codes of a check, alone or as the head of a batch. */
const CHECK_CODES = [
  ...RULE_CODES,
  'account-format-unsupported',
  'rule-set-unknown',
  'proof-unavailable',
  'callback-url-refused',
  'idempotency-key-reused',
] as const;
/** The problem codes of a body before its content is validated. */
const BODY_CODES = {
  400: ['malformed-json', 'malformed-request'],
  413: ['body-too-large'],
  415: ['media-type-unsupported'],
} as const;

/** Every problem of the operations: the tests reach each of them. */
export const OPERATION_CODES = {
  checkRoles: {
    ...ON_EVERY_OPERATION,
    ...BODY_CODES,
    409: ['idempotency-key-in-use'],
    422: ['validation-failed', ...CHECK_CODES],
    429: ['rate-limited', 'monthly-quota-exceeded'],
    503: ['evaluation-unavailable', 'dependency-unavailable', 'overloaded'],
    504: ['deadline-exceeded'],
  },
  readResponse: {
    ...ON_EVERY_OPERATION,
    404: ['request-not-found', 'route-not-found'],
    410: ['request-expired'],
  },
  startBatch: {
    ...ON_EVERY_OPERATION,
    ...BODY_CODES,
    408: ['body-timeout', 'request-timeout'],
    409: ['idempotency-key-in-use', 'limit-reached'],
    422: ['validation-failed', 'too-many-entries', 'batch-too-large', ...CHECK_CODES],
    429: ['rate-limited', 'monthly-quota-exceeded'],
  },
  readBatch: {
    ...ON_EVERY_OPERATION,
    404: ['request-not-found', 'route-not-found'],
    410: ['request-expired'],
  },
  readBatchResults: {
    ...ON_EVERY_OPERATION,
    404: ['request-not-found', 'route-not-found'],
    410: ['request-expired'],
    422: ['validation-failed'],
  },
  listChains: ON_EVERY_OPERATION,
  listRuleSets: { ...ON_EVERY_OPERATION, 422: ['validation-failed'] },
  readRuleSet: { ...ON_EVERY_OPERATION, 404: ['rule-set-not-found', 'route-not-found'] },
  putRuleSet: {
    ...ON_EVERY_OPERATION,
    ...BODY_CODES,
    404: ['route-not-found'],
    409: ['limit-reached'],
    412: ['version-conflict'],
    422: ['validation-failed', ...RULE_CODES],
  },
  deleteRuleSet: {
    ...ON_EVERY_OPERATION,
    404: ['route-not-found'],
    409: ['rule-set-in-use'],
    412: ['version-conflict'],
    422: ['validation-failed'],
  },
} as const satisfies Record<string, Codes>;

/** Every problem of the operations on watches. */
export const WATCH_CODES = {
  listWatches: { ...ON_EVERY_OPERATION, 422: ['validation-failed'] },
  readWatch: { ...ON_EVERY_OPERATION, 404: ['watch-not-found', 'route-not-found'] },
  putWatch: {
    ...ON_EVERY_OPERATION,
    ...BODY_CODES,
    404: ['route-not-found'],
    409: ['limit-reached'],
    412: ['version-conflict'],
    422: ['validation-failed', 'rule-set-unknown', 'callback-url-refused'],
  },
  deleteWatch: {
    ...ON_EVERY_OPERATION,
    404: ['route-not-found'],
    412: ['version-conflict'],
    422: ['validation-failed'],
  },
  actOnWatch: {
    ...ON_EVERY_OPERATION,
    404: ['watch-not-found', 'route-not-found'],
    412: ['version-conflict'],
    422: ['validation-failed'],
  },
  changeMembers: {
    ...ON_EVERY_OPERATION,
    ...BODY_CODES,
    404: ['watch-not-found', 'route-not-found'],
    408: ['body-timeout', 'request-timeout'],
    409: ['limit-reached'],
    422: ['validation-failed', 'account-format-unsupported', 'too-many-entries'],
  },
  listMembers: {
    ...ON_EVERY_OPERATION,
    404: ['watch-not-found', 'route-not-found'],
    422: ['validation-failed'],
  },
  readMember: { ...ON_EVERY_OPERATION, 404: ['watch-not-found', 'member-not-found', 'route-not-found'] },
} as const satisfies Record<string, Codes>;

/** A sentence for a status: the titles of its codes. */
export const describeCodes = (codes: readonly ProblemCode[]): string =>
  codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' ');
