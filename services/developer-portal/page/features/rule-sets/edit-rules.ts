/** A rule as JSON, whatever its members are. */
// biome-ignore lint/suspicious/noExplicitAny: it is what somebody types.
export type Rule = { readonly [member: string]: any };

/** The members of a simple rule that have a field, by type; the others are kept as they are. */
export const FIELDS: Record<string, string[]> = {
  ERC20: ['contractAddress', 'minToken', 'maxToken'],
  ERC721: ['contractAddress', 'tokenId', 'minToken', 'maxToken'],
  ERC1155: ['contractAddress', 'tokenId', 'minToken', 'maxToken'],
  NATIVE: ['minToken', 'maxToken'],
  CONTRACT: ['contractAddress', 'function', 'args', 'returns', 'operator', 'value', 'onRevert', 'wallets'],
  SUM: ['minToken', 'maxToken'],
};

export const TERM_FIELDS: Record<string, string[]> = {
  ERC20: ['contractAddress', 'times'],
  ERC721: ['contractAddress', 'tokenId', 'times'],
  ERC1155: ['contractAddress', 'tokenId', 'times'],
  NATIVE: ['times'],
  CONTRACT: ['contractAddress', 'function', 'args', 'returns', 'decimals', 'times'],
};
const EVERY_FIELD = new Set(Object.values({ ...FIELDS, ...TERM_FIELDS }).flat());

export const COMPOSED: Record<string, string> = {
  ALL: 'all of',
  ANY: 'any of',
  NONE: 'none of',
  AT_LEAST: 'at least',
};

export const isComposed = ({ type }) => Object.hasOwn(COMPOSED, type ?? '');

/** Whether a rule holds others: a composed rule, or a sum with its terms. */
export const hasRules = (rule) => isComposed(rule) || rule.type === 'SUM';

/** A rule to be filled in. Rules inside of others have no role. */
export const newRule = (chainId: unknown, roleId?: string): Rule => ({
  type: 'ERC20',
  ...(chainId !== undefined && { chainId }),
  contractAddress: '',
  ...(roleId !== undefined && { roleId }),
});

export const rulesIn = (rule: Rule): Rule[] => (hasRules(rule) ? (rule['rules'] ?? []) : []);

/** How many rules there are, those inside of others counted. */
export const countRules = (rules: readonly Rule[]): number =>
  rules.reduce((count, rule) => count + 1 + countRules(rulesIn(rule)), 0);

/** The chains that the rules name, each once. */
export const chainsOf = (rules: readonly Rule[]): string[] => [
  ...new Set(rules.flatMap((rule) => (hasRules(rule) ? chainsOf(rulesIn(rule)) : [textOf(rule['chainId'])]))),
];

/** Whether a value has the shape that a form can show: rules that are lists of objects. */
export const canShow = (value): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  (value.rules === undefined || (Array.isArray(value.rules) && value.rules.every(canShow)));

/** An object with another value of a member; without the member for undefined. */
export function withMember(object: Rule, name, value) {
  const { [name]: _, ...rest } = object;
  return value === undefined ? rest : { ...object, [name]: value };
}

/** A rule, or a term of a sum, of another type: what the new type has no field for is dropped. */
export function withType(rule: Rule, type, isTerm: boolean): Rule {
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
