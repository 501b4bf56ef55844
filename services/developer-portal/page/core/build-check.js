/** Most rules that the form offers, those inside of composed rules counted; the API takes more. */
export const RULES_MAX = 20;
/** Composed rules inside of one another. */
export const DEPTH_MAX = 4;

/** `chainId` is text, as a field has it. A rule keeps the fields of all types, so that changing the type loses nothing. */
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
});

/** The fields that a simple rule of each type has. */
export const FIELDS = {
  ERC20: ['contractAddress', 'minToken', 'maxToken'],
  ERC721: ['contractAddress', 'tokenId', 'minToken', 'maxToken'],
  ERC1155: ['contractAddress', 'tokenId', 'minToken', 'maxToken'],
  NATIVE: ['minToken', 'maxToken'],
  CONTRACT: ['contractAddress', 'function', 'args', 'returns', 'operator', 'value', 'onRevert', 'wallets'],
};

/** The types of rules that are made of others. */
export const COMPOSED = { ALL: 'all of', ANY: 'any of', NONE: 'none of', AT_LEAST: 'at least' };

export const isComposed = ({ type }) => type in COMPOSED;

/** How many rules there are, those inside of composed rules counted. */
export const countRules = (rules) =>
  rules.reduce((count, rule) => count + 1 + (isComposed(rule) ? countRules(rule.rules) : 0), 0);

/** The chains that the rules name, each once. */
export const chainsOf = (rules) => [
  ...new Set(rules.flatMap((rule) => (isComposed(rule) ? chainsOf(rule.rules) : [rule.chainId.trim()]))),
];

/** A rule for each token of a demo chain; its holder owns what they ask for, exactly. */
export const demoRules = ({ chainId, erc20, erc721, erc1155 }) => {
  const rule = (place, given) => ({ ...newRule(place, String(chainId)), ...given });
  return [
    rule(1, { type: 'ERC20', contractAddress: erc20, minToken: '1500.5', roleId: 'holder' }),
    rule(2, { type: 'ERC721', contractAddress: erc721, tokenId: '1-3', minToken: '3', roleId: 'collector' }),
    rule(3, { type: 'ERC1155', contractAddress: erc1155, tokenId: '7,8', minToken: '15', roleId: 'player' }),
  ];
};

const linesOf = (text) => text.split(/[\s,]+/).filter((line) => line !== '');

/**
 * The body of a check from what was typed: fields that a rule's type does not have, or that are empty, are left
 * out. What is wrong with the rest is the API's to say.
 *
 * @example
 * buildCheck({ account: '0x…', onUndetermined: 'omit', rules: [newRule(1, '1')] });
 */
export function buildCheck({
  account,
  others = '',
  vaults = '',
  blocks = {},
  explain = false,
  onUndetermined,
  rules,
}) {
  const more = linesOf(others);
  const atBlock = chainsOf(rules).flatMap((chainId) => {
    const block = (blocks[chainId] ?? '').trim();
    return block === '' ? [] : [[chainId, toInteger(block)]];
  });
  return {
    ...(more.length === 0 ? { account: account.trim() } : { accounts: [account.trim(), ...more] }),
    ...(linesOf(vaults).length > 0 && { vaults: linesOf(vaults) }),
    ...(onUndetermined !== 'omit' && { onUndetermined }),
    ...(atBlock.length > 0 && { consistency: { atBlock: Object.fromEntries(atBlock) } }),
    ...(explain && { explain }),
    rules: rules.map((rule) => ({ ...buildCondition(rule), roleId: rule.roleId })),
  };
}

function buildCondition(rule) {
  const { type } = rule;
  if (isComposed(rule))
    return {
      type,
      ...(type === 'AT_LEAST' && { atLeast: toInteger(rule.atLeast) }),
      rules: rule.rules.map(buildCondition),
    };
  const filled = FIELDS[type].filter((name) => rule[name].trim() !== '');
  return {
    type,
    chainId: toInteger(rule.chainId),
    ...Object.fromEntries(filled.map((name) => [name, name === 'args' ? argsOf(rule) : rule[name].trim()])),
  };
}

/** One argument a line. */
const argsOf = ({ args }) =>
  args
    .trim()
    .split('\n')
    .map((line) => line.trim());

/** What is not a whole number is sent as it was typed, for the API to refuse. */
const toInteger = (text) => (/^[0-9]{1,15}$/.test(text.trim()) ? Number(text) : text);
