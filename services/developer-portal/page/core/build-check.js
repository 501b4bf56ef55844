/** Most rules that the form offers; the API takes more. */
export const RULES_MAX = 20;

export const newRule = (place) => ({
  type: 'ERC20',
  chainId: '1',
  contractAddress: '',
  tokenId: '',
  minToken: '',
  maxToken: '',
  roleId: `role-${place}`,
});

/** The fields that a rule of each type has. */
export const FIELDS = {
  ERC20: ['contractAddress', 'minToken', 'maxToken'],
  ERC721: ['contractAddress', 'tokenId', 'minToken', 'maxToken'],
  ERC1155: ['contractAddress', 'tokenId', 'minToken', 'maxToken'],
  NATIVE: ['minToken', 'maxToken'],
};

/**
 * The body of a check from what was typed: fields that a rule's type does not have, or that are empty, are left
 * out. What is wrong with the rest is the API's to say.
 *
 * @example
 * buildCheck({ account: '0x…', onUndetermined: 'omit', rules: [newRule(1)] });
 */
export function buildCheck({ account, onUndetermined, rules }) {
  return {
    account: account.trim(),
    ...(onUndetermined !== 'omit' && { onUndetermined }),
    rules: rules.map((rule) => {
      const filled = FIELDS[rule.type].filter((name) => rule[name].trim() !== '');
      return {
        type: rule.type,
        chainId: toInteger(rule.chainId),
        ...Object.fromEntries(filled.map((name) => [name, rule[name].trim()])),
        roleId: rule.roleId,
      };
    }),
  };
}

/** What is not a whole number is sent as it was typed, for the API to refuse. */
const toInteger = (text) => (/^[0-9]{1,15}$/.test(text.trim()) ? Number(text) : text);
