import { classifyRpcError, isAssertion } from './classify-rpc-error.ts';

// Answers of real clients and providers, as they were published.
test.each([
  [-32_000, 'header not found', 'block-unavailable'],
  [-32_000, 'missing trie node 0b (path ) state 0x0b is not available', 'block-unavailable'],
  [-32_001, 'Resource not found', 'block-unavailable'],
  [-32_002, 'No state available for block 0xabc', 'block-unavailable'],
  [-32_002, 'Resource unavailable', 'block-unavailable'],
  [-32_002, 'request timed out', 'rpc-error'],
  [-32_000, 'No state found for block 5', 'block-unavailable'],
  [-32_000, 'project ID does not have access to archive state', 'block-unavailable'],
  [
    -32_000,
    'This request is not supported because your node is running with state pruning. Run with --pruning=archive.',
    'block-unavailable',
  ],
  [-32_000, 'old data not available due to pruning', 'block-unavailable'],
  [-32_602, 'BlockOutOfRangeError: block height is 70 but requested was 16777215', 'block-unavailable'],
  [3, 'execution reverted: ERC721: invalid token ID', 'reverted'],
  [-32_000, 'execution reverted', 'reverted'],
  [-32_015, 'VM execution error: revert', 'reverted'],
  [-32_603, 'Error: Transaction reverted without a reason string', 'reverted'],
  [-32_603, 'Error: VM Exception while processing transaction: reverted with custom error', 'reverted'],
  [-32_603, 'VM Exception while processing transaction: revert rate limit', 'reverted'],
  [-32_000, 'invalid opcode: INVALID', 'gas-exhausted'],
  [-32_003, 'EVM error InvalidFEOpcode', 'gas-exhausted'],
  [-32_003, 'EVM error OutOfOffset', 'gas-exhausted'],
  [-32_000, 'return data out of bounds', 'gas-exhausted'],
  [-32_003, 'EVM error CallNotAllowedInsideStatic', 'gas-exhausted'],
  [-32_003, 'EVM error InvalidOperandOOG', 'gas-exhausted'],
  [-32_000, 'gas uint64 overflow', 'gas-exhausted'],
  [-32_000, 'execution aborted (timeout = 5s)', 'evm-timeout'],
  [-32_000, 'out of gas', 'gas-exhausted'],
  [-32_003, 'EVM error OutOfGas', 'gas-exhausted'],
  [-32_000, 'gas required exceeds allowance (50000000)', 'gas-exhausted'],
  [-32_602, 'too many arguments, want at most 2', 'override-refused'],
  [-32_000, 'state override is not supported', 'override-refused'],
  [-32_005, 'daily request count exceeded, request rate limited', 'rate-limited'],
  [429, 'Your app has exceeded its compute units per second capacity', 'rate-limited'],
  [-32_005, 'limit exceeded', 'rate-limited'],
  [-32_000, 'your daily quota exceeded', 'rate-limited'],
  [-32_000, 'batch size too large', 'too-large'],
  [-32_000, 'the flux capacitor is misaligned', 'rpc-error'],
  [-32_000, 'upstream reverted the connection, retry', 'rpc-error'],
  // INVALID_ARGUMENT of gRPC, which some nodes pass on.
  [3, 'invalid argument: the height is not loaded', 'rpc-error'],
  [0, '', 'rpc-error'],
] as const)('%d %j is %s', (code, message, expected) => {
  expect(classifyRpcError({ code, message })).toBe(expected);
});

test('distinguishes a halt from a revert if the client uses the code of a revert for both', () => {
  const message = 'VM Exception while processing transaction: invalid opcode';
  expect(classifyRpcError({ code: 3, message })).toBe('gas-exhausted');
  expect(classifyRpcError({ code: 3, message: 'execution reverted: invalid opcode' })).toBe('reverted');
  expect(classifyRpcError({ code: 3, message: 'no', data: '0x08c379a0' })).toBe('reverted');
});

// OpenEthereum and Nethermind give every failed execution the same code and message; the cause is
// in the data.
test.each([
  ['Reverted 0x', 'reverted'],
  ['Reverted 0x08c379a0', 'reverted'],
  ['revert: SafeMath: division by zero', 'reverted'],
  ['revert: out of gas', 'reverted'],
  ['err: revert (supplied gas 36000000)', 'reverted'],
  ['err: 0xdf2d9b42 (supplied gas 36000000)', 'reverted'],
  ['0xdf2d9b42', 'reverted'],
  ['Out of gas', 'gas-exhausted'],
  ['err: OutOfGas (supplied gas 36000000)', 'gas-exhausted'],
  ['gas limit below intrinsic gas', 'gas-exhausted'],
  ['Bad instruction fe', 'gas-exhausted'],
  ['err: StackUnderflow (supplied gas 36000000)', 'gas-exhausted'],
  // A cause that is not known is not a revert: a revert of ownerOf would decide a rule.
  ['0x', 'gas-exhausted'],
  ['err: rate limit (supplied gas 36000000)', 'gas-exhausted'],
  ['something else', 'gas-exhausted'],
  [undefined, 'gas-exhausted'],
] as const)('a failed execution with the data %j is %s', (data, expected) => {
  expect(classifyRpcError({ code: -32_015, message: 'VM execution error.', data })).toBe(expected);
});

const PANIC = `4e487b71${'0'.repeat(63)}`;
test.each([
  [`0x${PANIC}1`, true],
  [`${PANIC}1`, true],
  [`0x${PANIC}1`.toUpperCase().replace('X', 'x'), true],
  [`Reverted 0x${PANIC}1`, true],
  [`err: 0x${PANIC}1 (supplied gas 36000000)`, true],
  // An index out of bounds is how some collections refuse an id that does not exist.
  [`0x${'4e487b71'.padEnd(70, '0')}32`, false],
  [`0x${PANIC}100`, false],
  [`0x08c379a0${PANIC}1`, false],
  ['', false],
])('whether the data %j is a failed assertion: %s', (data, expected) => {
  expect(isAssertion(data)).toBe(expected);
});

test('takes time in proportion to the length of a hostile text', () => {
  const ERRORS = 1_000;
  const began = process.cpuUsage();
  for (const words of ['a', 'block ', 'exceed ', 'request '])
    for (let i = 0; i < ERRORS / 4; i += 1)
      classifyRpcError({ code: -32_000, message: words.repeat(1_000).slice(0, 1_000) });
  // As many as one array has calls: seconds if each character were a beginning.
  expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
});
