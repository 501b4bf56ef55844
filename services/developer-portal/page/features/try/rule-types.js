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

export const isComposed = ({ type }) => Object.hasOwn(COMPOSED, type);
