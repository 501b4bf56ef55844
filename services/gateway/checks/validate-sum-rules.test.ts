import { validationRules } from '../../../test/support/validation-rules.ts';
import { validateCheck } from './validate-check.ts';

// `SUM` rules: their bounds, their terms, and the weights of terms.

const TOKEN = '0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359';
const RULES = validationRules([1, 10, 8453]);
const ERC20 = { type: 'ERC20', chainId: 1, contractAddress: TOKEN };
const CALL = {
  contractAddress: TOKEN,
  function: 'function convert(uint256 shares) view returns (uint256 assets, int256 delta)',
  args: ['1'],
};
const STAKED = {
  type: 'CONTRACT',
  chainId: 1,
  contractAddress: TOKEN,
  function: 'function stakedOf(address) view returns (uint256)',
  args: ['$account'],
  decimals: 18,
};
const sumOf = (...rules: unknown[]) => ({ type: 'SUM', roleId: 'whale', minToken: '1000', rules });
const weighed = (weights: object) => sumOf({ ...ERC20, ...weights });

function validate(body: object, rules = RULES) {
  return validateCheck(JSON.parse(JSON.stringify({ account: TOKEN, ...body })), rules);
}
function codesOf(body: object): string[] {
  const validation = validate(body);
  return validation.ok ? [] : validation.faults.map(({ pointer, code }) => `${pointer} ${code}`);
}
const codesOfRule = (...rules: object[]) => codesOf({ rules });

it.each<[string, object]>([
  ['one term', sumOf(ERC20)],
  ['sixteen terms', sumOf(...Array(16).fill(ERC20))],
  ['no bounds: one token is needed', { ...sumOf(ERC20), minToken: undefined }],
  ['a maximum alone, and a fraction', { ...sumOf(ERC20), minToken: '0', maxToken: '0.5' }],
  [
    'a term of each type',
    sumOf(
      ERC20,
      { type: 'NATIVE', chainId: 10 },
      { type: 'ERC721', chainId: 1, contractAddress: TOKEN, tokenId: '1-3' },
      { type: 'ERC721', chainId: 1, contractAddress: TOKEN },
      { type: 'ERC1155', chainId: 1, contractAddress: TOKEN, tokenId: '7' },
      STAKED,
    ),
  ],
  ['a factor as text', weighed({ times: '1.5' })],
  ['a factor of zero', weighed({ times: '0' })],
  ['calls as weights', weighed({ times: CALL, per: { ...CALL, returns: 'assets', decimals: 77 } })],
  ['labels on terms', sumOf({ ...ERC20, name: 'on mainnet', description: 'x' })],
  [
    'a place inside of composed rules 4 deep',
    {
      type: 'ALL',
      roleId: 'r',
      rules: [
        {
          type: 'ANY',
          rules: [{ type: 'NONE', rules: [{ type: 'ALL', rules: [{ type: 'SUM', rules: [ERC20] }] }] }],
        },
      ],
    },
  ],
])('accepts %s', (_, rule) => expect(codesOfRule(rule)).toEqual([]));

it.each<[string, object, string[]]>([
  ['no terms', sumOf(), ['/rules/0/rules too-short']],
  ['terms that are missing', { type: 'SUM', roleId: 'r' }, ['/rules/0/rules required']],
  ['terms that are not a list', { ...sumOf(), rules: ERC20 }, ['/rules/0/rules wrong-type']],
  ['seventeen terms', sumOf(...Array(17).fill(ERC20)), ['/rules/0/rules too-many']],
  [
    'seventeen terms that would each be wrong',
    sumOf(...Array(17).fill({ ...ERC20, chainId: {}, times: { function: [] } })),
    ['/rules/0/rules too-many'],
  ],
  [
    'seventeen terms, and other members that are wrong',
    { ...sumOf(...Array(17).fill(ERC20)), minToken: '0', tokenId: '1' },
    ['/rules/0/rules too-many', '/rules/0/tokenId not-allowed', '/rules/0/minToken min-token-zero'],
  ],
  ['a minimum of zero', { ...sumOf(ERC20), minToken: '0' }, ['/rules/0/minToken min-token-zero']],
  ['a maximum below the minimum', { ...sumOf(ERC20), maxToken: '999.9' }, ['/rules/0/maxToken out-of-range']],
  ['a number for a minimum', { ...sumOf(ERC20), minToken: 1 }, ['/rules/0/minToken wrong-type']],
  ['a chain of its own', { ...sumOf(ERC20), chainId: 1 }, ['/rules/0/chainId not-allowed']],
  [
    'a composed rule as a term',
    sumOf({ type: 'ALL', rules: [ERC20] }),
    ['/rules/0/rules/0/type not-allowed'],
  ],
  ['a sum as a term', sumOf({ type: 'SUM', rules: [ERC20] }), ['/rules/0/rules/0/type not-allowed']],
  ['an unknown type', sumOf({ ...ERC20, type: 'ERC404' }), ['/rules/0/rules/0/type rule-type-unsupported']],
  ['a text for a term', sumOf('ERC20'), ['/rules/0/rules/0 wrong-type']],
  ['a role of a term', sumOf({ ...ERC20, roleId: 'r' }), ['/rules/0/rules/0/roleId not-allowed']],
  ['a minimum of a term', sumOf({ ...ERC20, minToken: '1' }), ['/rules/0/rules/0/minToken not-allowed']],
  ['a maximum of a term', sumOf({ ...ERC20, maxToken: '1' }), ['/rules/0/rules/0/maxToken not-allowed']],
  [
    'a chain without endpoints',
    sumOf({ ...ERC20, chainId: 5 }),
    ['/rules/0/rules/0/chainId chain-unsupported'],
  ],
  [
    'a term without a contract',
    sumOf({ type: 'ERC20', chainId: 1 }),
    ['/rules/0/rules/0/contractAddress required'],
  ],
  [
    'an ERC1155 without ids',
    sumOf({ type: 'ERC1155', chainId: 1, contractAddress: TOKEN }),
    ['/rules/0/rules/0/tokenId required'],
  ],
  [
    'ids in the wrong order',
    sumOf({ type: 'ERC721', chainId: 1, contractAddress: TOKEN, tokenId: '3-1' }),
    ['/rules/0/rules/0/tokenId out-of-range'],
  ],
  [
    'an output without decimals',
    sumOf({ ...STAKED, decimals: undefined }),
    ['/rules/0/rules/0/decimals required'],
  ],
  ['78 decimals', sumOf({ ...STAKED, decimals: 78 }), ['/rules/0/rules/0/decimals out-of-range']],
  ['negative decimals', sumOf({ ...STAKED, decimals: -1 }), ['/rules/0/rules/0/decimals out-of-range']],
  ['decimals as text', sumOf({ ...STAKED, decimals: '18' }), ['/rules/0/rules/0/decimals wrong-type']],
  [
    'a comparison of a term',
    sumOf({ ...STAKED, operator: 'gte', value: '1' }),
    ['/rules/0/rules/0/operator not-allowed', '/rules/0/rules/0/value not-allowed'],
  ],
  [
    'the meaning of a revert, and wallets',
    sumOf({ ...STAKED, onRevert: 'deny', wallets: 'all' }),
    ['/rules/0/rules/0/onRevert not-allowed', '/rules/0/rules/0/wallets not-allowed'],
  ],
  [
    'a signed output',
    sumOf({ ...STAKED, function: 'function stakedOf(address) view returns (int256)' }),
    ['/rules/0/rules/0/function function-unsupported'],
  ],
  [
    'a boolean output',
    sumOf({ ...STAKED, function: 'function isStaked(address) view returns (bool)' }),
    ['/rules/0/rules/0/function function-unsupported'],
  ],
  ['a wrong argument', sumOf({ ...STAKED, args: ['7'] }), ['/rules/0/rules/0/args/0 malformed']],
  ['a factor with a sign', weighed({ times: '-1' }), ['/rules/0/rules/0/times malformed']],
  ['a factor with an exponent', weighed({ times: '1e3' }), ['/rules/0/rules/0/times malformed']],
  ['a number as a factor', weighed({ times: 1.5 }), ['/rules/0/rules/0/times wrong-type']],
  ['null as a factor', weighed({ times: null }), ['/rules/0/rules/0/times wrong-type']],
  ['a list as a factor', weighed({ times: [CALL] }), ['/rules/0/rules/0/times wrong-type']],
  ['text as a divisor', weighed({ per: '2' }), ['/rules/0/rules/0/per wrong-type']],
  [
    'a weight without a contract',
    weighed({ per: { ...CALL, contractAddress: undefined } }),
    ['/rules/0/rules/0/per/contractAddress required'],
  ],
  [
    'a weight without a function',
    weighed({ times: { ...CALL, function: undefined } }),
    ['/rules/0/rules/0/times/function required'],
  ],
  [
    'a chain of a weight',
    weighed({ times: { ...CALL, chainId: 1 } }),
    ['/rules/0/rules/0/times/chainId unknown-member'],
  ],
  [
    'a weight of a weight',
    weighed({ times: { ...CALL, times: '2' } }),
    ['/rules/0/rules/0/times/times unknown-member'],
  ],
  [
    'a comparison of a weight',
    weighed({ per: { ...CALL, value: '1' } }),
    ['/rules/0/rules/0/per/value unknown-member'],
  ],
  [
    '78 decimals of a weight',
    weighed({ per: { ...CALL, decimals: 78 } }),
    ['/rules/0/rules/0/per/decimals out-of-range'],
  ],
  [
    'a signed output of a weight',
    weighed({ times: { ...CALL, returns: 'delta' } }),
    ['/rules/0/rules/0/times/function function-unsupported'],
  ],
  [
    'an output that is not there',
    weighed({ times: { ...CALL, returns: '2' } }),
    ['/rules/0/rules/0/times/returns unknown-output'],
  ],
  [
    'a function of a weight that may write',
    weighed({ per: { ...CALL, function: 'function f() returns (uint256)' } }),
    ['/rules/0/rules/0/per/function function-unsupported'],
  ],
  [
    'too many arguments of a weight',
    weighed({ per: { ...CALL, args: ['1', '2'] } }),
    ['/rules/0/rules/0/per/args too-many'],
  ],
  [
    'the wallet in a weight',
    weighed({ times: { ...STAKED, type: undefined, chainId: undefined } }),
    ['/rules/0/rules/0/times/args/0 not-allowed'],
  ],
  [
    'the zero address as the contract of a weight',
    weighed({ per: { ...CALL, contractAddress: `0x${'0'.repeat(40)}` } }),
    ['/rules/0/rules/0/per/contractAddress zero-address'],
  ],
  [
    'weights of a rule',
    { ...ERC20, roleId: 'r', times: '2', per: CALL },
    ['/rules/0/times not-allowed', '/rules/0/per not-allowed'],
  ],
  [
    'an unknown member of a term',
    sumOf({ ...ERC20, factor: '2' }),
    ['/rules/0/rules/0/factor unknown-member'],
  ],
  [
    'the type of a term alone, whatever its weights are',
    sumOf({ ...ERC20, type: 'ERC777', times: { function: [] }, per: { function: 7, args: 'x' } }),
    ['/rules/0/rules/0/type rule-type-unsupported'],
  ],
  [
    'decimals beyond the safe integers once',
    weighed({ times: { ...CALL, decimals: 2 ** 53 } }),
    ['/rules/0/rules/0/times/decimals out-of-range'],
  ],
])('reports %s by its pointer', (_, rule, faults) => expect(codesOfRule(rule)).toEqual(faults));

it('reports a sum inside of a composed rule by its pointer', () =>
  expect(
    codesOfRule({
      type: 'ANY',
      roleId: 'r',
      rules: [{ type: 'SUM', minToken: '0', rules: [{ ...ERC20, times: 'x' }] }],
    }),
  ).toEqual(['/rules/0/rules/0/rules/0/times malformed', '/rules/0/rules/0/minToken min-token-zero']));

it('says what is wrong with a term, and what would be right', () => {
  const validation = validate({
    rules: [
      sumOf({ type: 'ALL', rules: [] }),
      weighed({ times: 2 }),
      sumOf({ ...ERC20, minToken: '1' }),
      sumOf({ ...STAKED, decimals: undefined }),
      { ...ERC20, roleId: 'r', per: CALL },
      weighed({ times: { ...CALL, decimals: 2 ** 53 } }),
    ],
  });
  expect(validation.ok ? [] : validation.faults.map(({ detail }) => detail)).toEqual([
    '/rules/0/rules/0/type must be that of a token rule or CONTRACT: a SUM has no ALL inside.',
    '/rules/1/rules/0/times must be a decimal string such as "1.5", or a call.',
    '/rules/2/rules/0/minToken is not allowed inside of a SUM: the sum has the bounds.',
    '/rules/3/rules/0/decimals is required for CONTRACT inside of a SUM.',
    '/rules/4/per is allowed only inside of a SUM.',
    '/rules/5/rules/0/times/decimals must be at most 77.',
  ]);
});

it('counts each term as a rule', () => {
  const sums = Array.from({ length: 10 }, () => sumOf(...Array(9).fill(ERC20)));
  expect(codesOf({ rules: sums })).toEqual([]);
  expect(codesOf({ rules: [...sums, { ...ERC20, roleId: 'r' }] })).toEqual(['/rules too-many']);
});

it('counts the reads of terms and weights, equal ones once', () => {
  const ids = (from: number) => `${from}-${from + 255}`;
  const term = (from: number) => ({ ...ERC20, type: 'ERC721', tokenId: ids(from), times: CALL, per: CALL });
  const eight = [0, 1, 2, 3, 4, 5, 6].map((place) => term(256 * place));
  expect(codesOfRule(sumOf(...eight, { ...ERC20, type: 'ERC721', tokenId: '1792-1998' }))).toEqual([]);
  expect(codesOfRule(sumOf(...eight, { ...ERC20, type: 'ERC721', tokenId: '1792-1999' }))).toEqual([
    '/rules too-many-reads',
  ]);
});

describe('the blocks of a sum over several chains', () => {
  const over = (...chainIds: number[]) => sumOf(...chainIds.map((chainId) => ({ ...ERC20, chainId })));
  const at = (atBlock: object, ...rules: object[]) => codesOf({ rules, consistency: { atBlock } });

  it('are those of all its chains, or of none', () => {
    expect(at({ 1: 5, 10: 5 }, over(1, 10))).toEqual([]);
    expect(at({}, over(1, 10))).toEqual([]);
    expect(at({ 1: 5 }, over(1, 10))).toEqual(['/consistency/atBlock required']);
    expect(
      at({ 10: 5 }, { type: 'NONE', roleId: 'r', rules: [{ ...over(1, 10), roleId: undefined }] }),
    ).toEqual(['/consistency/atBlock required']);
  });

  it('do not concern other rules', () => {
    const simple = { ...ERC20, chainId: 8453, roleId: 'r' };
    expect(at({ 8453: 5 }, over(1, 10), simple)).toEqual([]);
    expect(at({ 1: 5 }, over(1), { ...simple, chainId: 10 })).toEqual([]);
  });

  it('may be minimums of some', () =>
    expect(codesOf({ rules: [over(1, 10)], consistency: { minBlock: { 1: 5 } } })).toEqual([]));
});

describe('a valid sum', () => {
  const checkOf = (rule: object) => {
    const validation = validate({ rules: [rule] });
    if (!validation.ok) throw new Error(JSON.stringify(validation.faults));
    return validation.value;
  };

  it('has the default of its minimum filled in, and the labels of its terms left out', () =>
    expect(checkOf({ ...sumOf({ ...ERC20, name: 'n', times: '2' }), minToken: undefined }).rules).toEqual([
      { type: 'SUM', roleId: 'whale', minToken: '1', rules: [{ ...ERC20, times: '2' }] },
    ]));

  it.each<[string, object, object]>([
    [
      'the default of the minimum',
      { ...sumOf(ERC20), minToken: '1' },
      { ...sumOf(ERC20), minToken: undefined },
    ],
    [
      'addresses in upper case',
      sumOf(ERC20),
      sumOf({ ...ERC20, contractAddress: `0x${TOKEN.slice(2).toUpperCase()}` }),
    ],
    ['the default of decimals', weighed({ per: CALL }), weighed({ per: { ...CALL, decimals: 0 } })],
    [
      'an output by name and by index',
      weighed({ times: CALL }),
      weighed({ times: { ...CALL, returns: 'assets' } }),
    ],
  ])('is the same check with %s', (_, one, other) => {
    expect(checkOf(one).canonical()).toBe(checkOf(other).canonical());
  });

  it.each<[string, object, object]>([
    ['another factor', weighed({ times: '2' }), weighed({ times: '3' })],
    ['a factor in place of a divisor', weighed({ times: CALL }), weighed({ per: CALL })],
    ['other decimals', sumOf(STAKED), sumOf({ ...STAKED, decimals: 6 })],
    ['another order', sumOf(ERC20, STAKED), sumOf(STAKED, ERC20)],
  ])('is another check with %s', (_, one, other) => {
    expect(checkOf(one).canonical()).not.toBe(checkOf(other).canonical());
  });
});
