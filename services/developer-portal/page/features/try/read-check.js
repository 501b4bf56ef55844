import { FIELDS, hasRules, isComposed, newForm, newRule, TERM_FIELDS } from './build-check.js';

/** @import { CheckForm, RuleForm } from './build-check.js' */

/** Thrown inside of this module for a value that no field can show. */
const NOT_SHOWN = new Error('no field can show this');

/**
 * The form's texts from the body of a check, the inverse of `buildCheck`. Members that the form has
 * no field for are kept in `extra`.
 * @returns {CheckForm | undefined} undefined for a value that the form cannot show: not an object,
 *   a list where a text is expected, …
 *
 * @example
 * readCheck({ account: '0x…', rules: [{ type: 'NATIVE', chainId: 1, roleId: 'member' }] })?.rules[0].chainId; // '1'
 */
export function readCheck(value) {
  try {
    return readBody(value);
  } catch (error) {
    if (error === NOT_SHOWN) return undefined;
    throw error;
  }
}

/** @returns {CheckForm} */
function readBody(value) {
  const { account, accounts, vaults, consistency, callbackUrl, rules, ...rest } = members(value);
  const { onUndetermined = 'omit', explain = false, async: isAsync = false, ...extra } = rest;
  if (account !== undefined && accounts !== undefined) throw NOT_SHOWN;
  const wallets = accounts === undefined ? [text(account ?? '')] : list(accounts).map(text);
  const mode = callbackUrl !== undefined ? 'webhook' : flag(isAsync) ? 'poll' : 'sync';
  return {
    ...newForm(''),
    account: wallets[0] ?? '',
    others: wallets.slice(1).join('\n'),
    vaults: list(vaults ?? [])
      .map(text)
      .join('\n'),
    ...readConsistency(consistency),
    explain: flag(explain),
    onUndetermined: text(onUndetermined),
    mode,
    callbackUrl: text(callbackUrl ?? ''),
    rules: list(rules ?? []).map((rule) => readRule(rule, 1)),
    extra,
  };
}

function readConsistency(consistency = {}) {
  const { blockTag = '', atBlock = {}, minBlock = {}, ...unknown } = members(consistency);
  if (Object.keys(unknown).length > 0) throw NOT_SHOWN;
  const texts = (blocks) =>
    Object.fromEntries(Object.entries(members(blocks)).map(([chainId, block]) => [chainId, text(block)]));
  return { blockTag: text(blockTag), atBlock: texts(atBlock), minBlock: texts(minBlock) };
}

/** @returns {RuleForm} */
function readRule(value, depth, isTerm = false) {
  const { type, chainId, roleId, rules, atLeast, ...given } = members(value);
  const isOuter = depth === 1;
  /** @type {readonly string[]} */
  const names = (isComposed({ type }) ? [] : (isTerm ? TERM_FIELDS : FIELDS)[text(type ?? '')]) ?? [];
  // A weight that is a call has no field.
  const isShown = ([name, member]) =>
    names.includes(name) && (name !== 'times' || typeof member === 'string');
  const shown = Object.entries(given).filter(isShown);
  const extra = Object.fromEntries(Object.entries(given).filter((entry) => !isShown(entry)));
  if (!hasRules({ type }) && rules !== undefined) throw NOT_SHOWN;
  if (!isComposed({ type }) && atLeast !== undefined) throw NOT_SHOWN;
  if (hasRules({ type }) && (chainId !== undefined || isTerm)) throw NOT_SHOWN;
  if (!isOuter && roleId !== undefined) throw NOT_SHOWN;
  return {
    ...newRule(1, text(chainId ?? '')),
    ...Object.fromEntries(
      shown.map(([name, member]) => [name, name === 'args' ? textOfArgs(member) : text(member)]),
    ),
    type: text(type ?? ''),
    atLeast: text(atLeast ?? '1'),
    rules: list(rules ?? []).map((rule) => readRule(rule, depth + 1, type === 'SUM')),
    roleId: text(roleId ?? ''),
    extra,
  };
}

/** The field has one argument a line. */
function textOfArgs(args) {
  const lines = list(args).map(text);
  if (lines.some((line) => line.trim() !== line || line.includes('\n') || line === '')) throw NOT_SHOWN;
  return lines.join('\n');
}

/** @returns {Record<string, any>} */
function members(value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw NOT_SHOWN;
  return value;
}

/** @returns {unknown[]} */
function list(value) {
  if (!Array.isArray(value)) throw NOT_SHOWN;
  return value;
}

function text(value) {
  if (!['string', 'number', 'boolean'].includes(typeof value)) throw NOT_SHOWN;
  return String(value);
}

function flag(value) {
  if (typeof value !== 'boolean') throw NOT_SHOWN;
  return value;
}
