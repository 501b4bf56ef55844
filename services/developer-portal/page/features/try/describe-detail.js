import { COMPOSED, isComposed } from './build-check.js';

/** @import { RuleDetail, TermDetail } from '#shared/contracts/checks/result.ts' */

/** @type {Record<string, string>} */
const SIGNS = { eq: '=', ne: '≠', gt: '>', gte: '≥', lt: '<', lte: '≤' };
/** @type {Record<string, string>} */
const OBSERVED = { ERC20: 'balance', NATIVE: 'balance', ERC721: 'count', ERC1155: 'count', SUM: 'sum' };

/** A rule's number as people count, from the JSON pointer of the rule: `/rules/0/rules/2` is
 * 1.3. */
export const numberOf = (path) =>
  path
    .split('/')
    .filter((part) => /^[0-9]+$/.test(part))
    .map((part) => Number(part) + 1)
    .join('.');

/**
 * Why a rule ended as it did, or what a term of a sum is, in words.
 * @param {RuleDetail | TermDetail} detail an entry of a result's `details`
 * @param {any} rule the rule as it was sent; undefined if it is not known, as that of a rule set
 * @param {Record<string, { number: number }>} [blocks] those of the result
 *
 * @example
 * describeDetail({ outcome: 'granted', observed: '7', required: { min: '5' } }, { type: 'ERC20', chainId: 1 }, {});
 * // 'balance 7 ≥ 5'
 */
export function describeDetail(detail, rule = {}, blocks) {
  if (isComposed(rule)) {
    const count = rule.type === 'AT_LEAST' ? ` ${rule.atLeast} of` : '';
    return `${COMPOSED[rule.type]}${count} ${rule.rules.length === 1 ? 'this' : 'these'}`;
  }
  const quantity = OBSERVED[rule.type] ?? nameOfFunction(rule.function) ?? 'output';
  const { observed } = detail;
  const read = observed === undefined ? `${quantity} could not be read` : `${quantity} ${observed}`;
  const compared = 'outcome' in detail ? read + describeNeed(detail) : read + describeWeights(rule);
  const block = blocks?.[rule.chainId]?.number;
  return block === undefined ? compared : `${compared}, block ${block}`;
}

/** @param {RuleDetail} detail */
const describeNeed = ({ outcome, observed, required = {} }) =>
  `${outcome === 'granted' && observed !== undefined ? ' ' : ', needs '}${describeRequired(required)}`;

/** A weight is a number, or the function that is called. */
const describeWeights = ({ times, per }) =>
  [
    ['×', times],
    ['÷', per],
  ]
    .filter(([, weight]) => weight !== undefined)
    .map(([sign, weight]) => ` ${sign} ${nameOfFunction(weight.function) ?? weight}`)
    .join('');

const nameOfFunction = (text) => /function\s+([^\s(]+)/.exec(text ?? '')?.[1];

/** @param {NonNullable<RuleDetail['required']>} required */
const describeRequired = ({ min, max, operator, value }) =>
  [
    min !== undefined && `≥ ${min}`,
    max !== undefined && `≤ ${max}`,
    operator !== undefined && `${SIGNS[operator] ?? operator} ${value}`,
  ]
    .filter(Boolean)
    .join(' and ');
