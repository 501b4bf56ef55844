import { z } from 'zod';
import { RULE_SETS_PATH } from '#shared/contracts/paths.ts';
import { OnUndetermined } from '#shared/contracts/rules/rule.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';
import { RuleBody } from '#shared/rules/rule-body.ts';
import { RuleSetBody } from '#shared/rules/validate-rule-set.ts';
import { RULE_SET_EXAMPLE, RULE_SET_EXAMPLES } from '../docs/examples.ts';
import { ETAG, header, json, nothing, type Operation, PRECONDITIONS, RULE_CODES } from '../edge/operation.ts';
import { NextPage, pageQuery } from '../edge/parse-query.ts';

const RuleSetAnswer = z
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

const RuleSetList = z
  .object({ ruleSets: z.array(RuleSetAnswer), next: NextPage })
  .meta({ id: 'RuleSetList' });

const RULE_SET = `${RULE_SETS_PATH}/:id`;
const RuleSetId = z.string().meta({ pattern: RULE_SET_ID.source, example: 'holders' });
const isRuleSetId = (text: string): boolean => RULE_SET_ID.test(text);
const params = { id: RuleSetId };
const answer = (description: string, headers = {}) =>
  json(description, RuleSetAnswer, {
    headers: { ...ETAG, ...headers },
    examples: { holders: { value: RULE_SET_EXAMPLE } },
  });

/** Stored lists of rules. Reads cost the poll rate, writes the rate and one of the day's writes;
 * none costs quota. */
export const RULE_SET_OPERATIONS = {
  listRuleSets: {
    method: 'get',
    path: RULE_SETS_PATH,
    access: 'read',
    summary: 'List the rule sets, ordered by id',
    description: 'A page with large rule sets is shorter; `next` is present if there are more.',
    query: pageQuery(RuleSetId, isRuleSetId),
    answers: { 200: json('A page of the list.', RuleSetList) },
    codes: [],
  },
  readRuleSet: {
    method: 'get',
    path: RULE_SET,
    access: 'read',
    summary: 'Read a rule set',
    params,
    answers: { 200: answer('The rule set.') },
    codes: ['rule-set-not-found'],
  },
  putRuleSet: {
    method: 'put',
    path: RULE_SET,
    access: 'manage',
    summary: 'Store a list of rules under an id, for checks that name it by `ruleSet`',
    description:
      'Equal content writes nothing. A change of `name` alone keeps version and `ETag`. A write counts toward the rate ' +
      'and the writes per day, but not toward the quota. It takes effect on every gateway within a second, at the ' +
      'latest after 30 s.',
    params,
    headers: PRECONDITIONS,
    body: RuleSetBody,
    bodyExamples: RULE_SET_EXAMPLES,
    answers: {
      200: answer('The rule set, as it is now.'),
      201: answer('The rule set is new.', { Location: header('Where it is.') }),
    },
    codes: ['limit-reached', 'version-conflict', ...RULE_CODES],
  },
  deleteRuleSet: {
    method: 'delete',
    path: RULE_SET,
    access: 'manage',
    summary: 'Delete a rule set',
    params,
    headers: PRECONDITIONS,
    answers: { 204: nothing('The rule set is deleted, or did not exist.') },
    codes: ['rule-set-in-use', 'version-conflict', 'validation-failed'],
  },
} as const satisfies Record<string, Operation>;
