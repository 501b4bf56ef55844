/** A rule as JSON, whatever its members are. @typedef {{ readonly [member: string]: any }} Rule */

/** The members of a simple rule that have a field, by type; the others are kept as they are.
 * @type {Record<string, string[]>} */
export const FIELDS = {
  ERC20: ['contractAddress', 'minToken', 'maxToken'],
  ERC721: ['contractAddress', 'tokenId', 'minToken', 'maxToken'],
  ERC1155: ['contractAddress', 'tokenId', 'minToken', 'maxToken'],
  NATIVE: ['minToken', 'maxToken'],
  CONTRACT: ['contractAddress', 'function', 'args', 'returns', 'operator', 'value', 'onRevert', 'wallets'],
  SUM: ['minToken', 'maxToken'],
};

/** The same of a term of a sum. @type {Record<string, string[]>} */
export const TERM_FIELDS = {
  ERC20: ['contractAddress', 'times'],
  ERC721: ['contractAddress', 'tokenId', 'times'],
  ERC1155: ['contractAddress', 'tokenId', 'times'],
  NATIVE: ['times'],
  CONTRACT: ['contractAddress', 'function', 'args', 'returns', 'decimals', 'times'],
};
const EVERY_FIELD = new Set(Object.values({ ...FIELDS, ...TERM_FIELDS }).flat());

/** The types of rules that are made of others. @type {Record<string, string>} */
export const COMPOSED = { ALL: 'all of', ANY: 'any of', NONE: 'none of', AT_LEAST: 'at least' };

export const isComposed = ({ type }) => Object.hasOwn(COMPOSED, type ?? '');

/** Whether a rule holds others: a composed rule, or a sum with its terms. */
export const hasRules = (rule) => isComposed(rule) || rule.type === 'SUM';

/** Most rules that the form offers, those inside of composed rules counted; the API takes more. */
export const RULES_MAX = 20;
/** Depth of nested composed rules. */
export const DEPTH_MAX = 4;

/** What becomes of a rule that cannot be read. */
export const POLICIES = /** @type {const} */ ([
  ['omit', 'Leave the rule out'],
  ['deny', 'Deny the rule'],
  ['fail', 'Fail the check'],
]);

/**
 * A rule to be filled in. Rules inside of others have no role.
 * @param {unknown} chainId
 * @param {string} [roleId]
 * @returns {Rule}
 */
export const newRule = (chainId, roleId) => ({
  type: 'ERC20',
  ...(chainId !== undefined && { chainId }),
  contractAddress: '',
  ...(roleId !== undefined && { roleId }),
});

/** @param {Rule} rule @returns {Rule[]} */
export const rulesIn = (rule) => (hasRules(rule) ? (rule['rules'] ?? []) : []);

/** How many rules there are, those inside of others counted.
 * @param {readonly Rule[]} rules @returns {number} */
export const countRules = (rules) => rules.reduce((count, rule) => count + 1 + countRules(rulesIn(rule)), 0);

/** The chains that the rules name, each once. @param {readonly Rule[]} rules @returns {string[]} */
export const chainsOf = (rules) => [
  ...new Set(rules.flatMap((rule) => (hasRules(rule) ? chainsOf(rulesIn(rule)) : [textOf(rule['chainId'])]))),
];

/** Whether a value has the shape that a form can show: rules that are lists of objects.
 * @returns {boolean} */
export const canShow = (value) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  (value.rules === undefined || (Array.isArray(value.rules) && value.rules.every(canShow)));

/**
 * An object with another value of a member; without the member for undefined.
 * @param {Rule} object
 */
export function withMember(object, name, value) {
  const { [name]: _, ...rest } = object;
  return value === undefined ? rest : { ...object, [name]: value };
}

/**
 * A rule of another type: what the new type has no field for is dropped.
 * @param {Rule} rule
 * @param {boolean} isTerm of a sum
 * @returns {Rule}
 */
export function withType(rule, type, isTerm) {
  const fields = (isTerm ? TERM_FIELDS : FIELDS)[type] ?? [];
  const kept = Object.fromEntries(
    Object.entries(rule).filter(([name]) => !EVERY_FIELD.has(name) || fields.includes(name)),
  );
  const { rules, atLeast = 1, chainId = rules?.[0]?.chainId, ...rest } = kept;
  if (!hasRules({ type })) return { ...rest, type, ...(chainId !== undefined && { chainId }) };
  return { ...rest, type, ...(type === 'AT_LEAST' && { atLeast }), rules: rules ?? [newRule(chainId)] };
}

/** A value as the text of its field: a list has one entry a line, an object is JSON. */
export function textOf(value) {
  if (Array.isArray(value)) return value.map(textOf).join('\n');
  return typeof value === 'object' ? JSON.stringify(value) : String(value ?? '');
}

/** The members that are whole numbers. */
const INTEGERS = ['chainId', 'atLeast', 'decimals'];

/** A text that is not a whole number is sent as it was typed, for the API to refuse. */
export const toInteger = (text) => (/^[0-9]{1,15}$/.test(text) ? Number(text) : text);

/**
 * The value of a member from the text of its field, the inverse of `textOf`. An empty text stands
 * for no member; what the API must refuse stays as it was typed.
 *
 * @example
 * memberOf('chainId', '10'); // 10
 * memberOf('args', '$account\n7'); // ['$account', '7']
 */
export function memberOf(name, text) {
  if (text.trim() === '') return undefined;
  if (name === 'args') return text.split('\n');
  if (INTEGERS.includes(name)) return toInteger(text);
  try {
    // A weight that is a call.
    return name === 'times' && text.startsWith('{') ? JSON.parse(text) : text;
  } catch {
    return text;
  }
}
