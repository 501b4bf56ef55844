import type { RuleDetail, TermDetail } from '#shared/contracts/checks/result.ts';
import { formatAmount, formatCount, formatMinute } from '../../lib/format.ts';
import { COMPOSED, isComposed, type Rule } from '../rule-sets/edit-rules.ts';

/** By chain id, the block that was read: its number, or as a result has it. */
type Blocks = Readonly<Record<string, number | { readonly number: number }>>;

const OPERATORS: Record<string, string> = {
  eq: 'exactly',
  ne: 'anything but',
  gt: 'more than',
  gte: 'at least',
  lt: 'less than',
  lte: 'at most',
};
/** Of the integers that are a time of our days, in seconds. */
const TIME_MIN = 1_000_000_000;
const TIME_MAX = 100_000_000_000;

/** A rule's number as people count, from the JSON pointer of the rule: `/rules/0/rules/2` is
 * 1.3. */
export const numberOf = (path) =>
  path
    .split('/')
    .filter((part) => /^[0-9]+$/.test(part))
    .map((part) => Number(part) + 1)
    .join('.');

/** A result, as far as its roles go. */
type Explained = {
  roles: readonly { id: string }[];
  errors: readonly { ruleIndex?: number | undefined; roleId?: string | undefined; message: string }[];
  details?: readonly unknown[] | undefined;
};

/**
 * The role of each rule of a result, as far as the result itself tells it: `roles` has those that
 * were decided, in the order of the rules, and `errors` the others.
 *
 * @example
 * roleIdsOf({ roles: [{ id: 'b' }], errors: [{ ruleIndex: 0, roleId: 'a' }], details: [{}, {}] }); // ['a', 'b']
 */
export function roleIdsOf({ roles, errors, details = [] }: Explained): (string | undefined)[] {
  // Under `onUndetermined: "deny"` every rule has an entry among the roles.
  const areAllThere = roles.length === details.length;
  const decided = roles.values();
  return details.map((_, place) => {
    const open = errors.find(({ ruleIndex }) => ruleIndex === place);
    if (open === undefined || areAllThere) return decided.next().value?.id;
    return open.roleId;
  });
}

/**
 * Why a rule ended as it did, or what a term of a sum is, in words: an entry of a result's `details`
 * and the rule as it was sent, undefined if it is not known, as that of a rule set.
 *
 * @example
 * describeDetail({ outcome: 'denied', observed: '1200', required: { min: '1500' } }, { type: 'ERC20', chainId: 1 });
 * // 'holds 1,200 of 1,500 needed'
 */
export function describeDetail(detail: RuleDetail | TermDetail, sent: Rule = {}, blocks?: Blocks) {
  const { type, atLeast, rules, chainId } = sent;
  if (isComposed({ type })) {
    const count = type === 'AT_LEAST' ? ` ${atLeast} of` : '';
    return `${COMPOSED[type]}${count} ${rules.length === 1 ? 'this' : 'these'}`;
  }
  if ('rules' in detail && detail.required?.min === undefined) return 'by these';
  const block = blockOf(blocks, chainId);
  const words = 'outcome' in detail ? describeRule(detail, sent) : describeTerm(detail, sent);
  return block === undefined ? words : `${words}, at block ${formatCount(block)}`;
}

/** The only block, if it is not known which chain the rule is about. */
function blockOf(blocks: Blocks | undefined = {}, chainId = '') {
  const chains = Object.keys(blocks);
  const found = blocks[chainId === '' && chains.length === 1 ? (chains[0] ?? '') : chainId];
  return typeof found === 'object' ? found.number : found;
}

function describeRule({ outcome, observed, required = {}, rules }: RuleDetail, rule) {
  const { min = '0', max, operator } = required;
  if (operator !== undefined) return describeOutput(observed, required, rule);
  const needed = describeBounds(min, max);
  if (observed === undefined) return `could not be read; ${needed}`;
  const holds = `${rules === undefined ? 'holds' : 'adds up to'} ${formatAmount(observed)}`;
  const isShort = outcome === 'denied' && max === undefined;
  return isShort ? `${holds} of ${formatAmount(min)} needed` : `${holds}; ${needed}`;
}

function describeTerm({ observed }: TermDetail, rule) {
  if (observed === undefined) return 'could not be read';
  const name = nameOfFunction(rule.function);
  const amount = `${name === undefined ? 'holds' : `${name} says`} ${formatAmount(observed)}`;
  return amount + describeWeights(rule);
}

/** A weight is a number, or the function that is called. */
const describeWeights = ({ times, per }) =>
  Object.entries({ '×': times, '÷': per })
    .filter(([, weight]) => weight !== undefined)
    .map(([sign, weight]) => ` ${sign} ${nameOfFunction(weight.function) ?? weight}`)
    .join('');

const nameOfFunction = (text) => /function\s+([^\s(]+)/.exec(text ?? '')?.[1];

function describeBounds(min, max) {
  if (max === undefined) return `${formatAmount(min)} or more needed`;
  return min === '0'
    ? `at most ${formatAmount(max)} allowed`
    : `${formatAmount(min)} to ${formatAmount(max)} needed`;
}

function describeOutput(observed: string | undefined, { operator = '', value = '' }, rule: Rule) {
  const { function: signature, value: sent } = rule;
  const name = nameOfFunction(signature) ?? 'the contract';
  const isTime = String(sent ?? '').startsWith('$timestamp');
  const show = (text) => (isTime ? formatTime(text) : formatAmount(text));
  const needed = `${OPERATORS[operator] ?? operator} ${show(value)} needed`;
  return observed === undefined
    ? `${name} could not be read; ${needed}`
    : `${name} says ${show(observed)}; ${needed}`;
}

/** Seconds since 1970 as an instant, if they can be one of our days. */
function formatTime(text) {
  const seconds = Number(text);
  const isTime = seconds >= TIME_MIN && seconds <= TIME_MAX;
  return isTime ? formatMinute(new Date(seconds * 1_000).toISOString()) : formatAmount(text);
}
