import { validationRules } from '../../../test/support/validation-rules.ts';
import { validateCheck } from './validate-check.ts';

// `CONTRACT` rules: the function, its arguments, and the value that its output is compared with.

const TOKEN = '0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359';
const RULES = validationRules();
const TIER = {
  type: 'CONTRACT',
  chainId: 1,
  contractAddress: TOKEN,
  roleId: 'gold',
  function: 'function tierOf(address member, uint256 club) view returns (uint8 tier, bool active)',
  args: ['$account', '7'],
  returns: 'tier',
  operator: 'gte',
  value: '2',
};
const IS_OWNER = {
  type: 'CONTRACT',
  chainId: 1,
  contractAddress: TOKEN,
  roleId: 'owner',
  function: 'function isOwner(address) external view returns (bool)',
  args: ['$account'],
};
const returning = (output: string, changes: object) => ({
  ...IS_OWNER,
  function: `function f() view returns (${output})`,
  args: undefined,
  ...changes,
});
const taking = (input: string, arg: string) => ({
  ...IS_OWNER,
  function: `function f(${input}) view returns (bool)`,
  args: [arg],
});

function faultsOf(...rules: object[]) {
  const body = { account: TOKEN, rules };
  const validation = validateCheck(JSON.parse(JSON.stringify(body)), RULES);
  return validation.ok ? [] : validation.faults;
}
const codesOf = (...rules: object[]) => faultsOf(...rules).map(({ pointer, code }) => `${pointer} ${code}`);

it.each<[string, object]>([
  ['an output by its name', TIER],
  ['an output by its index', { ...TIER, returns: '1', operator: 'ne', value: 'false' }],
  ['a boolean output without an operator or a value', IS_OWNER],
  ['a function without inputs and arguments', returning('bool', {})],
  ['a function without inputs and no arguments', returning('bool', { args: [] })],
  ['the account as a value', returning('address', { operator: 'eq', value: '$account' })],
  ['a word of bytes', returning('bytes32', { operator: 'eq', value: `0x${'0'.repeat(64)}` })],
  ['a negative number', returning('int8', { operator: 'lt', value: '-128' })],
  [
    'an output of a tuple beside text',
    returning('(uint256 amount, uint64[2] times) lock, string note', {
      returns: 'lock.times.1',
      operator: 'gt',
      value: '$timestamp-86400',
    }),
  ],
  ['a time beyond the type of the output', returning('uint8', { operator: 'lt', value: '$timestamp' })],
  ['text as an argument', taking('string memory name', 'a ü')],
  ['bytes as an argument', taking('bytes', '0x00ff')],
  ['the meaning of a revert, and the wallets', { ...TIER, onRevert: 'deny', wallets: 'all' }],
])('accepts %s', (_, rule) => expect(faultsOf(rule)).toEqual([]));

it.each<[string, object, string[]]>([
  ['no function', { ...TIER, function: undefined }, ['/rules/0/function required']],
  ['a number for a function', { ...TIER, function: 1 }, ['/rules/0/function wrong-type']],
  ['no signature at all', { ...TIER, function: 'tierOf' }, ['/rules/0/function function-unsupported']],
  [
    'a function that may write',
    { ...TIER, function: 'function f() returns (bool)' },
    ['/rules/0/function function-unsupported'],
  ],
  ['a tuple', returning('(uint256 a, bool b) t', {}), ['/rules/0/returns function-unsupported']],
  ['an array', returning('uint256[]', {}), ['/rules/0/returns function-unsupported']],
  ['text as an output', returning('string', {}), ['/rules/0/returns function-unsupported']],
  [
    'an output of a tuple with text',
    returning('(bool a, string b) t', { returns: 't.a' }),
    ['/rules/0/returns function-unsupported'],
  ],
  ['an array of 17', returning('bool[17]', { returns: '0.0' }), ['/rules/0/function function-unsupported']],
  ['a tuple as an input', taking('(uint256 a) t', '1'), ['/rules/0/function function-unsupported']],
  ['a time as an argument', taking('uint256', '$timestamp'), ['/rules/0/args/0 malformed']],
  ['a time for a boolean', { ...IS_OWNER, value: '$timestamp' }, ['/rules/0/value malformed']],
  [
    'a time with an offset of 11 digits',
    { ...TIER, value: '$timestamp+10000000000' },
    ['/rules/0/value malformed'],
  ],
  ['no output', { ...TIER, function: 'function f() view' }, ['/rules/0/function function-unsupported']],
  [
    '513 characters',
    { ...TIER, function: `function ${'f'.repeat(480)}() view returns (bool)  ` },
    ['/rules/0/function function-unsupported'],
  ],
  ['no arguments', { ...TIER, args: undefined }, ['/rules/0/args required']],
  ['too few arguments', { ...TIER, args: ['$account'] }, ['/rules/0/args too-short']],
  ['too many arguments', { ...TIER, args: ['$account', '7', '8'] }, ['/rules/0/args too-many']],
  ['nine wrong arguments', { ...TIER, args: Array(9).fill(7) }, ['/rules/0/args too-many']],
  [
    'nine inputs, and as many arguments',
    {
      ...TIER,
      function: `function f(${Array(9).fill('uint256').join(',')}) view returns (bool)`,
      args: Array(9).fill('7'),
    },
    ['/rules/0/function function-unsupported'],
  ],
  ['arguments that are not a list', { ...TIER, args: '$account' }, ['/rules/0/args wrong-type']],
  ['a number as an argument', { ...TIER, args: ['$account', 7] }, ['/rules/0/args/1 wrong-type']],
  ['a leading zero', { ...TIER, args: ['$account', '07'] }, ['/rules/0/args/1 malformed']],
  ['a plus sign', { ...TIER, args: ['$account', '+7'] }, ['/rules/0/args/1 malformed']],
  ['2^256', { ...TIER, args: ['$account', String(2n ** 256n)] }, ['/rules/0/args/1 malformed']],
  [
    'half an address',
    { ...TIER, args: ['0xfb69', 'x'] },
    ['/rules/0/args/0 malformed', '/rules/0/args/1 malformed'],
  ],
  ['the account inside of a text', { ...TIER, args: ['$account ', '7'] }, ['/rules/0/args/0 malformed']],
  ['the account for a number', { ...TIER, args: ['$account', '$account'] }, ['/rules/0/args/1 malformed']],
  ['257 bytes', taking('bytes', `0x${'00'.repeat(257)}`), ['/rules/0/args/0 malformed']],
  ['257 bytes of text', taking('string', 'ü'.repeat(129)), ['/rules/0/args/0 malformed']],
  ['half a byte', taking('bytes4', '0x123'), ['/rules/0/args/0 malformed']],
  ['yes for a boolean', taking('bool', 'yes'), ['/rules/0/args/0 malformed']],
  [
    'more than 1 KiB of calldata',
    {
      ...IS_OWNER,
      function: 'function f(string a, string b, string c, string d) view returns (bool)',
      args: Array(4).fill('x'.repeat(256)),
    },
    ['/rules/0/args function-unsupported'],
  ],
  ['an output that is not there', { ...TIER, returns: 'level' }, ['/rules/0/returns unknown-output']],
  ['the third of two outputs', { ...TIER, returns: '2' }, ['/rules/0/returns unknown-output']],
  ['a number for an output', { ...TIER, returns: 0 }, ['/rules/0/returns wrong-type']],
  ['no operator', { ...TIER, operator: undefined }, ['/rules/0/operator required']],
  ['no value', { ...TIER, value: undefined }, ['/rules/0/value required']],
  ['an unknown operator', { ...TIER, operator: '>=' }, ['/rules/0/operator not-a-choice']],
  ['an order of booleans', { ...IS_OWNER, operator: 'gt' }, ['/rules/0/operator not-allowed']],
  ['a value out of the range of its type', { ...TIER, value: '256' }, ['/rules/0/value malformed']],
  ['a JSON number as a value', { ...TIER, value: 2 }, ['/rules/0/value wrong-type']],
  ['an unknown onRevert', { ...TIER, onRevert: 'grant' }, ['/rules/0/onRevert not-a-choice']],
  ['unknown wallets', { ...TIER, wallets: 'most' }, ['/rules/0/wallets not-a-choice']],
  ['a member of a token', { ...TIER, tokenId: '1' }, ['/rules/0/tokenId not-allowed']],
  [
    'the zero address as its contract',
    { ...TIER, contractAddress: `0x${'0'.repeat(40)}` },
    ['/rules/0/contractAddress zero-address'],
  ],
])('reports %s by its pointer', (_, rule, faults) => expect(codesOf(rule)).toEqual(faults));

it('lists every fault of a rule, inside of a composed rule too', () => {
  const { roleId: _, ...inner } = {
    ...TIER,
    args: ['x', '-1'],
    returns: '0',
    operator: undefined,
    value: 'x',
  };
  expect(
    codesOf({ type: 'NONE', roleId: 'r', rules: [inner, { ...IS_OWNER, roleId: undefined, args: ['y'] }] }),
  ).toEqual([
    '/rules/0/rules/0/args/0 malformed',
    '/rules/0/rules/0/args/1 malformed',
    '/rules/0/rules/0/operator required',
    '/rules/0/rules/0/value malformed',
    '/rules/0/rules/1/args/0 malformed',
  ]);
});

it('names the expected value in every detail', () => {
  const details = faultsOf(
    { ...TIER, args: ['$account', '-1'], returns: 'level' },
    { ...TIER, operator: undefined, value: '256' },
    { ...IS_OWNER, args: [] },
    { ...IS_OWNER, operator: 'lt' },
  ).map(({ detail }) => detail);
  expect(details).toEqual([
    expect.stringMatching(/^\/rules\/0\/args\/1 must be an integer of uint256/),
    '/rules/0/returns must name an output: 0 (tier), 1 (active).',
    '/rules/1/operator is required for an output of type uint8.',
    expect.stringMatching(/^\/rules\/1\/value must be an integer from 0 to 255/),
    '/rules/2/args must have one text per input of isOwner, which has 1.',
    '/rules/3/operator must be eq or ne for an output of type bool, which has no order.',
  ]);
});

it('refuses a signature that is meant to keep a parser busy, without parsing it', () => {
  const hostile = [
    `function f(${'('.repeat(250_000)}`,
    `function f(${'uint256,'.repeat(30_000)}`,
    `function ${'a '.repeat(120_000)}`,
    `function f(${'uint'.repeat(120)}) view returns (bool)`,
    `function f() view returns (${'(('.repeat(200)})`,
  ];
  for (const text of hostile)
    expect(codesOf({ ...IS_OWNER, function: text })).toEqual(['/rules/0/function function-unsupported']);
});
