import { COMPOSED, isComposed } from './build-check.js';

/** @import { RuleDetail } from '#shared/contracts/checks/result.ts' */

/** @type {Record<string, string>} */
const SIGNS = { eq: '=', ne: '≠', gt: '>', gte: '≥', lt: '<', lte: '≤' };
/** @type {Record<string, string>} */
const OBSERVED = { ERC20: 'balance', NATIVE: 'balance', ERC721: 'count', ERC1155: 'count' };

/** A rule's number as people count, from the JSON pointer of the rule: `/rules/0/rules/2` is
 * 1.3. */
export const numberOf = (path) =>
  path
    .split('/')
    .filter((part) => /^[0-9]+$/.test(part))
    .map((part) => Number(part) + 1)
    .join('.');

/**
 * Why a rule ended as it did, in words.
 * @param {RuleDetail} detail an entry of a result's `details`
 * @param {any} rule the rule as it was sent; undefined if it is not known, as that of a rule set
 * @param {Record<string, { number: number }>} [blocks] those of the result
 *
 * @example
 * describeDetail({ outcome: 'granted', observed: '7', required: { min: '5' } }, { type: 'ERC20', chainId: 1 }, {});
 * // 'balance 7 ≥ 5'
 */
export function describeDetail({ outcome, observed, required = {} }, rule = {}, blocks) {
  if (isComposed(rule)) {
    const count = rule.type === 'AT_LEAST' ? ` ${rule.atLeast} of` : '';
    return `${COMPOSED[rule.type]}${count} ${rule.rules.length === 1 ? 'this' : 'these'}`;
  }
  const quantity = OBSERVED[rule.type] ?? /function\s+([^\s(]+)/.exec(rule.function ?? '')?.[1] ?? 'output';
  const needed = describeRequired(required);
  const compared =
    observed === undefined
      ? `${quantity} could not be read, needs ${needed}`
      : `${quantity} ${observed}${outcome === 'granted' ? ` ${needed}` : `, needs ${needed}`}`;
  const block = blocks?.[rule.chainId]?.number;
  return block === undefined ? compared : `${compared}, block ${block}`;
}

/** @param {NonNullable<RuleDetail['required']>} required */
const describeRequired = ({ min, max, operator, value }) =>
  [
    min !== undefined && `≥ ${min}`,
    max !== undefined && `≤ ${max}`,
    operator !== undefined && `${SIGNS[operator] ?? operator} ${value}`,
  ]
    .filter(Boolean)
    .join(' and ');
