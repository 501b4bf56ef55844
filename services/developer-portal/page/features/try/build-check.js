import { FIELDS, isComposed } from './rule-types.js';

/** Most rules that the form offers, those inside of composed rules counted; the API takes more. */
export const RULES_MAX = 20;
/** Depth of nested composed rules. */
export const DEPTH_MAX = 4;

/**
 * `chainId` is text, as a field has it. A rule keeps the fields of all types, so that changing the type loses nothing;
 * `extra` has the members of a rule that came as JSON and that the form does not show.
 */
export const newRule = (place, chainId) => ({
  type: 'ERC20',
  chainId,
  contractAddress: '',
  tokenId: '',
  minToken: '',
  maxToken: '',
  function: '',
  args: '',
  returns: '',
  operator: '',
  value: '',
  onRevert: '',
  wallets: '',
  atLeast: '1',
  rules: [],
  roleId: `role-${place}`,
  extra: {},
});

/** The form of a check as it is opened; `extra` as in a rule. */
export const newForm = (chainId) => ({
  account: '',
  others: '',
  vaults: '',
  blockTag: '',
  atBlock: {},
  minBlock: {},
  explain: true,
  onUndetermined: 'omit',
  mode: 'sync',
  callbackUrl: '',
  rules: [newRule(1, chainId)],
  extra: {},
});

/** How many rules there are, those inside of composed rules counted. */
export const countRules = (rules) =>
  rules.reduce((count, rule) => count + 1 + (isComposed(rule) ? countRules(rule.rules) : 0), 0);

/** The chains that the rules name, each once. */
export const chainsOf = (rules) => [
  ...new Set(rules.flatMap((rule) => (isComposed(rule) ? chainsOf(rule.rules) : [rule.chainId.trim()]))),
];

const linesOf = (text) => text.split(/[\s,]+/).filter((line) => line !== '');

/**
 * The body of a check from the form's texts: fields that a rule's type does not have, or that are empty, are left
 * out. The API reports faults of the rest. `readCheck` is its inverse.
 *
 * @example
 * buildCheck({ ...newForm('1'), account: '0x…' });
 */
export function buildCheck(form) {
  const { account, others, vaults, explain, onUndetermined, mode, callbackUrl, rules, extra } = form;
  const more = linesOf(others);
  const consistency = buildConsistency(form);
  return {
    ...(more.length === 0 ? { account: account.trim() } : { accounts: [account.trim(), ...more] }),
    ...(linesOf(vaults).length > 0 && { vaults: linesOf(vaults) }),
    ...(onUndetermined !== 'omit' && { onUndetermined }),
    ...(Object.keys(consistency).length > 0 && { consistency }),
    ...(explain && { explain }),
    ...(mode === 'poll' && { async: true }),
    ...(mode === 'webhook' && { callbackUrl: callbackUrl.trim() }),
    ...extra,
    ...(rules.length > 0 && {
      rules: rules.map((rule) => ({ ...buildCondition(rule), roleId: rule.roleId })),
    }),
  };
}

function buildConsistency({ blockTag, atBlock, minBlock, rules }) {
  const chains = chainsOf(rules);
  const blocks = (texts) =>
    Object.fromEntries(
      chains.flatMap((chainId) => {
        const block = (texts[chainId] ?? '').trim();
        return block === '' ? [] : [[chainId, toInteger(block)]];
      }),
    );
  const given = { minBlock: blocks(minBlock), atBlock: blocks(atBlock) };
  return {
    ...(blockTag !== '' && { blockTag }),
    ...Object.fromEntries(Object.entries(given).filter(([, chosen]) => Object.keys(chosen).length > 0)),
  };
}

function buildCondition(rule) {
  const { type, extra } = rule;
  if (isComposed(rule))
    return {
      type,
      ...(type === 'AT_LEAST' && { atLeast: toInteger(rule.atLeast) }),
      ...extra,
      rules: rule.rules.map(buildCondition),
    };
  const filled = (FIELDS[type] ?? []).filter((name) => rule[name].trim() !== '');
  return {
    type,
    ...(rule.chainId !== '' && { chainId: toInteger(rule.chainId) }),
    ...extra,
    ...Object.fromEntries(filled.map((name) => [name, name === 'args' ? argsOf(rule) : rule[name].trim()])),
  };
}

/** One argument a line. */
const argsOf = ({ args }) =>
  args
    .trim()
    .split('\n')
    .map((line) => line.trim());

/** A text that is not a whole number is sent as it was typed, for the API to refuse. */
const toInteger = (text) => (/^[0-9]{1,15}$/.test(text.trim()) ? Number(text) : text);
