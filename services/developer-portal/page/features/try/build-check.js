/**
 * The fields of a rule as texts, as a field has them. A rule keeps the fields of all types, so that
 * changing the type loses nothing; `extra` has the members of a rule that came as JSON and that the
 * form does not show.
 * @typedef {ReturnType<typeof newTexts>} RuleTexts
 * @typedef {RuleTexts & { rules: RuleForm[], extra: Record<string, any> }} RuleForm
 */
/** A check as a form; the blocks by chain id, `extra` as in a rule. @typedef {ReturnType<typeof
 * newForm>} CheckForm */

/** The fields that a simple rule of each type has. @type {Record<string, (keyof RuleTexts)[]>} */
export const FIELDS = {
  ERC20: ['contractAddress', 'minToken', 'maxToken'],
  ERC721: ['contractAddress', 'tokenId', 'minToken', 'maxToken'],
  ERC1155: ['contractAddress', 'tokenId', 'minToken', 'maxToken'],
  NATIVE: ['minToken', 'maxToken'],
  CONTRACT: ['contractAddress', 'function', 'args', 'returns', 'operator', 'value', 'onRevert', 'wallets'],
  SUM: ['minToken', 'maxToken'],
};

/** The fields that a term of a sum has; weights that are calls are in `extra`. @type {Record<string,
 * (keyof RuleTexts)[]>} */
export const TERM_FIELDS = {
  ERC20: ['contractAddress', 'times'],
  ERC721: ['contractAddress', 'tokenId', 'times'],
  ERC1155: ['contractAddress', 'tokenId', 'times'],
  NATIVE: ['times'],
  CONTRACT: ['contractAddress', 'function', 'args', 'returns', 'decimals', 'times'],
};

/** The types of rules that are made of others. @type {Record<string, string>} */
export const COMPOSED = { ALL: 'all of', ANY: 'any of', NONE: 'none of', AT_LEAST: 'at least' };

export const isComposed = ({ type }) => Object.hasOwn(COMPOSED, type ?? '');

/** Whether a rule holds others: a composed rule, or a sum with its terms. */
export const hasRules = (rule) => isComposed(rule) || rule.type === 'SUM';

/** Most rules that the form offers, those inside of composed rules counted; the API takes more. */
export const RULES_MAX = 20;
/** Depth of nested composed rules. */
export const DEPTH_MAX = 4;

const newTexts = (place, chainId) => ({
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
  decimals: '',
  times: '',
  atLeast: '1',
  roleId: `role-${place}`,
});

/** @returns {RuleForm} */
export const newRule = (place, chainId) => ({ ...newTexts(place, chainId), rules: [], extra: {} });

/** The form of a check as it is opened. */
export const newForm = (chainId) => ({
  account: '',
  others: '',
  vaults: '',
  blockTag: '',
  atBlock: /** @type {Record<string, string>} */ ({}),
  minBlock: /** @type {Record<string, string>} */ ({}),
  explain: true,
  onUndetermined: 'omit',
  mode: 'sync',
  callbackUrl: '',
  rules: [newRule(1, chainId)],
  extra: /** @type {Record<string, any>} */ ({}),
});

/**
 * How many rules there are, those inside of composed rules and sums counted.
 * @param {RuleForm[]} rules
 * @returns {number}
 */
export const countRules = (rules) =>
  rules.reduce((count, rule) => count + 1 + (hasRules(rule) ? countRules(rule.rules) : 0), 0);

/** The chains that the rules name, each once. @param {RuleForm[]} rules @returns {string[]} */
export const chainsOf = (rules) => [
  ...new Set(rules.flatMap((rule) => (hasRules(rule) ? chainsOf(rule.rules) : [rule.chainId.trim()]))),
];

const linesOf = (text) => text.split(/[\s,]+/).filter((line) => line !== '');

/**
 * The body of a check from the form's texts: fields that a rule's type does not have, or that are
 * empty, are left out. The API reports faults of the rest. `readCheck` is its inverse.
 * @param {CheckForm} form
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

/** @param {CheckForm} form */
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

/** The members that are numbers. */
const INTEGERS = ['decimals'];

/** @param {RuleForm} rule @returns {Record<string, any>} */
function buildCondition(rule, isTerm = false) {
  const { type, extra } = rule;
  if (isComposed(rule))
    return {
      type,
      ...(type === 'AT_LEAST' && { atLeast: toInteger(rule.atLeast) }),
      ...extra,
      rules: rule.rules.map((inner) => buildCondition(inner)),
    };
  const fields = (isTerm ? TERM_FIELDS : FIELDS)[type] ?? [];
  const filled = fields.filter((name) => rule[name].trim() !== '');
  /** @param {keyof RuleTexts} name */
  const memberOf = (name) => {
    if (name === 'args') return argsOf(rule);
    return INTEGERS.includes(name) ? toInteger(rule[name]) : rule[name].trim();
  };
  return {
    type,
    ...(type !== 'SUM' && rule.chainId !== '' && { chainId: toInteger(rule.chainId) }),
    ...extra,
    ...Object.fromEntries(filled.map((name) => [name, memberOf(name)])),
    ...(type === 'SUM' && { rules: rule.rules.map((term) => buildCondition(term, true)) }),
  };
}

/** One argument a line. @param {RuleForm} rule */
const argsOf = ({ args }) =>
  args
    .trim()
    .split('\n')
    .map((line) => line.trim());

/** A text that is not a whole number is sent as it was typed, for the API to refuse. */
const toInteger = (text) => (/^[0-9]{1,15}$/.test(text.trim()) ? Number(text) : text);
