import * as api from '../../http/api.ts';
import * as answers from '../../http/api-answers.ts';
import type { Operation } from '../../operation.ts';

const RULE_SETS = '/api/apps/:clientId/rule-sets';
const RULE_SET = `${RULE_SETS}/:ruleSetId`;

/** The stored rule sets of an app, as checks name them by `ruleSet`. */
export const RULE_SET_OPERATIONS = {
  listRuleSets: {
    method: 'get',
    path: RULE_SETS,
    access: 'session',
    summary: 'The rule sets of an app without their rules, by id',
    query: api.RuleSetsQuery,
    status: 200,
    answer: answers.RuleSetPage,
    codes: ['not-found'],
  },
  readRuleSet: {
    method: 'get',
    path: RULE_SET,
    access: 'session',
    summary: 'A rule set with its rules',
    status: 200,
    answer: answers.RuleSetAnswer,
    codes: ['not-found'],
  },
  putRuleSet: {
    method: 'put',
    path: RULE_SET,
    access: 'session',
    needs: 'approved',
    summary: 'Store a rule set; in effect on every gateway within a second',
    body: api.RuleSetDraft,
    status: 200,
    answer: answers.RuleSetAnswer,
    codes: ['not-found', 'limit-reached', 'version-conflict'],
  },
  deleteRuleSet: {
    method: 'delete',
    path: RULE_SET,
    access: 'session',
    summary: 'Delete a rule set, unless a watch refers to it',
    status: 204,
    codes: ['not-found', 'rule-set-in-use'],
  },
} as const satisfies Readonly<Record<string, Operation>>;
