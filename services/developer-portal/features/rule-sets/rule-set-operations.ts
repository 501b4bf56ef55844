import { z } from 'zod';
import { RULE_SET_ID, RuleSet } from '#shared/contracts/rules/rule-set.ts';
import { count, next } from '../../http/api.ts';
import type { Declaration } from '../../http/operation.ts';

const RuleSetAnswer = RuleSet.pick({
  digest: true,
  name: true,
  onUndetermined: true,
  rules: true,
  updatedAt: true,
})
  .extend({ ruleSetId: z.string(), version: count })
  .meta({ id: 'RuleSet' });
/** The stored rule sets of an app, as checks name them by `ruleSet`. */
export const RULE_SET_OPERATIONS = {
  listRuleSets: {
    call: 'GET /api/apps/:clientId/rule-sets',
    summary: 'The rule sets of an app without their rules, by id',
    query: z.strictObject({ after: z.string().regex(RULE_SET_ID).optional() }),
    answer: z.object({
      ruleSets: z.array(RuleSetAnswer.omit({ rules: true }).extend({ ruleCount: count })),
      next,
    }),
  },
  readRuleSet: {
    call: 'GET /api/apps/:clientId/rule-sets/:ruleSetId',
    summary: 'A rule set with its rules',
    answer: RuleSetAnswer,
  },
  putRuleSet: {
    call: 'PUT /api/apps/:clientId/rule-sets/:ruleSetId',
    params: { ruleSetId: z.string().regex(RULE_SET_ID) },
    needs: 'approved',
    summary: 'Store a rule set; in effect on every gateway within a second',
    /** A rule set as the gateway takes it, and the version that it replaces: 0 for a new rule set. */
    body: z.strictObject({
      /** Validated by the rules of the gateway, with every fault by its pointer inside. */
      ruleSet: z.record(z.string(), z.unknown()),
      replaces: z.number().int().min(0).optional(),
    }),
    answer: RuleSetAnswer,
    codes: ['limit-reached', 'version-conflict'],
  },
  deleteRuleSet: {
    call: 'DELETE /api/apps/:clientId/rule-sets/:ruleSetId',
    summary: 'Delete a rule set, unless a watch refers to it',
    codes: ['rule-set-in-use'],
  },
} as const satisfies Readonly<Record<string, Declaration>>;
