import { z } from 'zod';
import { OnUndetermined } from '#shared/contracts/rules/rule.ts';
import { Address, checked } from '#shared/rules/body-texts.ts';
import { ConsistencyBody } from '../checks/check-body.ts';

/** The bodies of the OpenID AuthZEN Authorization API 1.0, which leaves it to receivers to ignore
 * members that they do not know. */

export const EVALUATIONS_MAX = 50;
export const DISTINCT_CHECKS_MAX = 16;
export const SEMANTICS = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const;

const ROLE = /^([a-z0-9][a-z0-9._-]{0,63})\/([\s\S]+)$/;

const RoleInSet = checked((text) =>
  ROLE.test(text)
    ? undefined
    : ['malformed', 'must be the id of a rule set, a slash and the id of one of its roles'],
).meta({ pattern: ROLE.source, example: 'members/gold' });

/**
 * The rule set and the role that the id of a resource names.
 *
 * @example
 * splitRole('members/gold/2026'); // { ruleSet: 'members', roleId: 'gold/2026' }
 */
export function splitRole(id: string): { readonly ruleSet: string; readonly roleId: string } {
  const [, ruleSet = '', roleId = ''] = ROLE.exec(id) ?? [];
  return { ruleSet, roleId };
}

export const EvaluationBody = z
  .object({
    subject: z
      .object({ type: z.literal('wallet'), id: Address })
      .meta({ id: 'AccessSubject', description: 'The wallet that is asked about.' }),
    action: z.object({ name: z.string() }).meta({ description: 'Any name: it changes nothing.' }),
    resource: z
      .object({ type: z.literal('role'), id: RoleInSet })
      .meta({ id: 'AccessResource', description: 'A role of a stored rule set: `<rule set id>/<role id>`.' }),
    context: z
      .object({
        consistency: ConsistencyBody.strip().meta({ id: 'AccessConsistency' }).optional(),
        onUndetermined: OnUndetermined.optional(),
      })
      .meta({ id: 'AccessContext', description: 'As the members of a check; others are ignored.' })
      .optional(),
  })
  .meta({ id: 'AccessEvaluation' });
export type EvaluationBody = z.infer<typeof EvaluationBody>;

/** The names of the members of an evaluation, and those that it must have. */
export const MEMBERS = ['subject', 'action', 'resource', 'context'] as const;
export const REQUIRED = ['subject', 'action', 'resource'] as const;

const PartialEvaluation = EvaluationBody.partial().meta({ id: 'PartialAccessEvaluation' });

export const EvaluationsBody = z
  .object({
    ...PartialEvaluation.shape,
    evaluations: z
      .array(PartialEvaluation)
      .max(EVALUATIONS_MAX)
      .optional()
      .meta({
        description:
          `Members outside are the defaults of each. At most ${DISTINCT_CHECKS_MAX} distinct checks, of subject, rule set ` +
          'and context. Absent or empty, the request is a single evaluation.',
      }),
    options: z.object({ evaluations_semantic: z.enum(SEMANTICS).default('execute_all') }).optional(),
  })
  .meta({ id: 'AccessEvaluations' });

/** What of `EvaluationsBody` is about the list as a whole: a fault of one entry is the entry's. */
export const EvaluationList = EvaluationsBody.pick({ options: true }).extend({
  evaluations: z.array(z.unknown()).max(EVALUATIONS_MAX),
});
