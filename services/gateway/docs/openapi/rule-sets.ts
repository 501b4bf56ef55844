import { z } from 'zod';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import { RULE_SETS_PATH } from '#shared/contracts/paths.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';
import { RuleSetBody } from '#shared/rules/validate-rule-set.ts';
import { OPERATION_CODES, RuleSetAnswer, RuleSetList } from './api-answers.ts';
import { RULE_SET_EXAMPLE, RULE_SET_EXAMPLES } from './examples.ts';
import { ETAG, header, PRECONDITIONS, pageOf, problems, SUCCESS_HEADERS } from './parts.ts';

const RuleSetId = z.string().meta({ pattern: RULE_SET_ID.source, example: 'holders' });
const path = z.object({ id: RuleSetId });
const answer = (description: string, headers = {}) => ({
  description,
  headers: { ...SUCCESS_HEADERS, ...ETAG, ...headers },
  content: {
    'application/json': { schema: RuleSetAnswer, examples: { holders: { value: RULE_SET_EXAMPLE } } },
  },
});

const listRuleSets: ZodOpenApiOperationObject = {
  operationId: 'listRuleSets',
  summary: 'List the rule sets, ordered by id',
  description: 'A page with large rule sets is shorter; `next` is present if there are more.',
  requestParams: { query: pageOf(RuleSetId) },
  responses: {
    200: {
      description: 'A page of the list.',
      headers: SUCCESS_HEADERS,
      content: { 'application/json': { schema: RuleSetList } },
    },
    ...problems(OPERATION_CODES.listRuleSets),
  },
};

const readRuleSet: ZodOpenApiOperationObject = {
  operationId: 'readRuleSet',
  summary: 'Read a rule set',
  requestParams: { path },
  responses: { 200: answer('The rule set.'), ...problems(OPERATION_CODES.readRuleSet) },
};

const putRuleSet: ZodOpenApiOperationObject = {
  operationId: 'putRuleSet',
  summary: 'Store a list of rules under an id, for checks that name it by `ruleSet`',
  description:
    'Equal content writes nothing. A change of `name` alone keeps version and `ETag`. A write counts toward the rate ' +
    'and the writes per day, but not toward the quota. It takes effect on every gateway within a second, at the ' +
    'latest after 30 s.',
  requestParams: { path, header: PRECONDITIONS },
  requestBody: {
    required: true,
    content: { 'application/json': { schema: RuleSetBody, examples: RULE_SET_EXAMPLES } },
  },
  responses: {
    200: answer('The rule set, as it is now.'),
    201: answer('The rule set is new.', { Location: header('Where it is.') }),
    ...problems(OPERATION_CODES.putRuleSet),
  },
};

const deleteRuleSet: ZodOpenApiOperationObject = {
  operationId: 'deleteRuleSet',
  summary: 'Delete a rule set',
  requestParams: { path, header: PRECONDITIONS },
  responses: {
    204: { description: 'The rule set is deleted, or did not exist.', headers: SUCCESS_HEADERS },
    ...problems(OPERATION_CODES.deleteRuleSet),
  },
};

export const RULE_SET_PATHS = {
  [RULE_SETS_PATH]: { get: listRuleSets },
  [`${RULE_SETS_PATH}/{id}`]: { get: readRuleSet, put: putRuleSet, delete: deleteRuleSet },
} as const;
