import { z } from 'zod';
import { CheckResult } from '#shared/contracts/checks/result.ts';
import { EVALUATION_PATH, EVALUATIONS_PATH, METADATA_PATH } from '#shared/contracts/paths.ts';
import { RequestId } from '../checks/answers.ts';
import { EVALUATION_EXAMPLE, EVALUATIONS_EXAMPLE } from '../docs/examples.ts';
import { json, type Operation, REQUEST_ID_ECHO } from '../edge/operation.ts';
import { EvaluationBody, EvaluationsBody } from './evaluation-bodies.ts';

const { evaluatedAt, blocks } = CheckResult.shape;

export const Decided = z
  .object({
    decision: z.boolean(),
    context: z.object({
      outcome: z.enum(['granted', 'denied']),
      requestId: RequestId,
      evaluatedAt,
      blocks,
    }),
  })
  .meta({ id: 'AccessDecision' });

const Undecided = z
  .object({
    decision: z.literal(false),
    context: z.object({
      outcome: z.literal('undetermined'),
      error: z.object({ status: z.union([z.literal(400), z.literal(503)]), message: z.string() }),
    }),
  })
  .meta({
    id: 'AccessUndetermined',
    description:
      'The entry is faulty (400), or its role could not be read (503). For enforcing a request: never take a role away ' +
      'because of it.',
  });

const DecisionPoint = z
  .object({
    policy_decision_point: z.string(),
    access_evaluation_endpoint: z.string(),
    access_evaluations_endpoint: z.string(),
  })
  .meta({ id: 'PolicyDecisionPoint' });

const REQUEST_ID = {
  'X-Request-ID': z
    .string()
    .optional()
    .meta({ description: 'Repeated in the answer: 1 to 256 visible ASCII characters, else ignored.' }),
};
const ECHO = { headers: REQUEST_ID_ECHO };
const CODES = [
  'account-format-unsupported',
  'rule-set-unknown',
  'chain-unsupported',
  'too-many-reads',
  'monthly-quota-exceeded',
  'evaluation-unavailable',
  'deadline-exceeded',
] as const;

/** The OpenID AuthZEN Authorization API 1.0. */
export const AUTHZEN_OPERATIONS = {
  evaluateAccess: {
    method: 'post',
    path: EVALUATION_PATH,
    access: 'check',
    isAuthzen: true,
    summary: 'Decide whether a wallet has a role, by AuthZEN',
    description:
      'A sync check of the rule set, decided by the folded role. A role that could not be read is no `false`: it is ' +
      '503, with `Retry-After` if another try may help. The key may also be sent as `Authorization: Bearer`.',
    headers: REQUEST_ID,
    body: EvaluationBody,
    bodyExamples: { role: { value: EVALUATION_EXAMPLE } },
    answers: { 200: json('The decision.', Decided, ECHO) },
    codes: CODES,
  },
  evaluateAccesses: {
    method: 'post',
    path: EVALUATIONS_PATH,
    access: 'check',
    isAuthzen: true,
    summary: 'Decide several evaluations in one request, by AuthZEN',
    description:
      'Each distinct check costs one of rate and of quota; without enough for all of them the request is 429 and costs ' +
      'nothing. Under `deny_on_first_deny` and `permit_on_first_permit` the answer ends with the entry that decides, ' +
      'undetermined counts as a denial, and checks that did not run are not charged.',
    headers: REQUEST_ID,
    body: EvaluationsBody,
    bodyExamples: { roles: { value: EVALUATIONS_EXAMPLE } },
    answers: {
      200: json(
        'The decisions, in the order of `evaluations`; without `evaluations` a single one.',
        z.union([z.object({ evaluations: z.array(z.union([Decided, Undecided])) }), Decided]),
        ECHO,
      ),
    },
    codes: CODES,
  },
  readDecisionPoint: {
    method: 'get',
    path: METADATA_PATH,
    access: 'public',
    summary: 'Read where the AuthZEN operations are',
    description:
      'Also served behind this path with the path of the public address. 404 unless the public address is https.',
    answers: { 200: { description: 'The metadata of the policy decision point.', schema: DecisionPoint } },
    codes: ['route-not-found'],
  },
} as const satisfies Record<string, Operation>;
