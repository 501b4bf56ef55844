import { z } from 'zod';
import { OnUndetermined } from '#shared/contracts/rules/rule.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';
import { count, instant, next } from '../../http/api.ts';
import { APP, type Operation, READ, REMOVAL } from '../../http/operation.ts';

const RULE_SETS = `${APP}/rule-sets` as const;
const RULE_SET = `${RULE_SETS}/:ruleSetId` as const;

const ruleSet = {
  ruleSetId: z.string(),
  version: count,
  digest: z.string(),
  name: z.string().optional(),
  onUndetermined: OnUndetermined,
  updatedAt: instant,
};
const RuleSetAnswer = z
  .object({ ...ruleSet, rules: z.array(z.record(z.string(), z.unknown())) })
  .meta({ id: 'RuleSet' });
/** The stored rule sets of an app, as checks name them by `ruleSet`. */
export const RULE_SET_OPERATIONS = {
  listRuleSets: {
    ...READ,
    path: RULE_SETS,
    summary: 'The rule sets of an app without their rules, by id',
    query: z.strictObject({ after: z.string().regex(RULE_SET_ID).optional() }),
    answer: z.object({
      ruleSets: z.array(z.object({ ...ruleSet, ruleCount: count })),
      next,
    }),
  },
  readRuleSet: {
    ...READ,
    path: RULE_SET,
    summary: 'A rule set with its rules',
    answer: RuleSetAnswer,
  },
  putRuleSet: {
    method: 'put',
    path: RULE_SET,
    access: 'session',
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
    ...REMOVAL,
    path: RULE_SET,
    summary: 'Delete a rule set, unless a watch refers to it',
    codes: ['rule-set-in-use'],
  },
} as const satisfies Readonly<Record<string, Operation>>;
