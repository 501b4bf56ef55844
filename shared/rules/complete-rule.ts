import type { Condition, Rule } from '#shared/contracts/rule.ts';
import type { ConditionBody, RuleBody } from './rule-body.ts';

/** A rule as it travels: with its defaults, and without the members that are only for the client. */
export function ruleOf(body: RuleBody): Rule {
  // Most rules need no copy.
  if (isTokenBody(body) && hasOnlyEvaluatedMembers(body)) return body;
  const { roleId, ...condition } = body;
  return { ...conditionOf(condition), roleId } as Rule;
}

type TokenBody = Extract<ConditionBody, { type: 'ERC20' | 'ERC721' | 'ERC1155' | 'NATIVE' }>;

const isTokenBody = <Body extends ConditionBody>(body: Body): body is Extract<Body, TokenBody> =>
  body.type !== 'CONTRACT' && !('rules' in body);

const hasOnlyEvaluatedMembers = <Body extends TokenBody>(
  body: Body,
): body is Body & { readonly minToken: string } =>
  body.minToken !== undefined && body.name === undefined && body.description === undefined;

function conditionOf(body: ConditionBody): Condition {
  const { name: _name, description: _description, ...condition } = body;
  if ('rules' in condition) return { ...condition, rules: condition.rules.map(conditionOf) };
  if (condition.type === 'CONTRACT') return condition;
  return { ...condition, minToken: condition.minToken ?? '1' };
}

/** A rule's values with every default, in an order of their own. */
export function canonicalRule(body: ConditionBody): unknown {
  if ('rules' in body) return entriesOf({ ...body, rules: body.rules.map(canonicalRule) });
  if (body.type === 'CONTRACT')
    return entriesOf({
      args: [],
      // The defaults of the two others are those of a boolean output: no other has any.
      operator: 'eq',
      value: 'true',
      onRevert: 'undetermined',
      wallets: 'any',
      ...body,
      contractAddress: body.contractAddress.toLowerCase(),
    });
  const contractAddress = 'contractAddress' in body ? body.contractAddress.toLowerCase() : null;
  return entriesOf({ ...body, minToken: body.minToken ?? '1', contractAddress });
}

const entriesOf = (values: Readonly<Record<string, unknown>>): [string, unknown][] =>
  Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
