/** Most rules that the form offers; the API takes more. */
export const RULES_MAX = 20;

/** `chainId` is text, as a field has it. */
export const newRule = (place, chainId) => ({
  type: 'ERC20',
  chainId,
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

/** A rule for each token of a demo chain; its holder owns what they ask for, exactly. */
export const demoRules = ({ chainId, erc20, erc721, erc1155 }) => {
  const rule = (place, given) => ({ ...newRule(place, String(chainId)), ...given });
  return [
    rule(1, { type: 'ERC20', contractAddress: erc20, minToken: '1500.5', roleId: 'holder' }),
    rule(2, { type: 'ERC721', contractAddress: erc721, tokenId: '1-3', minToken: '3', roleId: 'collector' }),
    rule(3, { type: 'ERC1155', contractAddress: erc1155, tokenId: '7,8', minToken: '15', roleId: 'player' }),
  ];
};

/**
 * The body of a check from what was typed: fields that a rule's type does not have, or that are empty, are left
 * out. What is wrong with the rest is the API's to say.
 *
 * @example
 * buildCheck({ account: '0x…', onUndetermined: 'omit', rules: [newRule(1, '1')] });
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
