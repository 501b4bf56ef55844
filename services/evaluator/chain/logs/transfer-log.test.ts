import { parseTransferLogs, TRANSFER_TOPICS } from './transfer-log.ts';

const [TRANSFER, SINGLE, BATCH] = TRANSFER_TOPICS;
const CONTRACT = `0x${'c0'.repeat(20)}`;
const ALICE = `0x${'a1'.repeat(20)}`;
const BOB = `0x${'b0'.repeat(20)}`;
const OPERATOR = `0x${'0e'.repeat(20)}`;
const ZERO = `0x${'00'.repeat(20)}`;
const HASH = `0x${'11'.repeat(32)}`;
const range = { fromBlock: 10, toBlock: 20, contracts: [CONTRACT] };
const word = (address: string) => `0x${'0'.repeat(24)}${address.slice(2)}`;

const aLog = (fields: object = {}) => ({
  address: CONTRACT,
  blockNumber: '0xf',
  blockHash: HASH,
  topics: [TRANSFER, word(ALICE), word(BOB)],
  data: `0x${'0'.repeat(63)}1`,
  logIndex: '0x3',
  removed: false,
  ...fields,
});
const accountsOf = (fields: object) => parseTransferLogs([aLog(fields)], range)[0]?.accounts;
const codeOf = (answer: unknown) => {
  try {
    return parseTransferLogs(answer, range);
  } catch (error) {
    return (error as Error).message;
  }
};

test('a log names its contract, block and both accounts in lower case', () => {
  const log = aLog({
    address: CONTRACT.toUpperCase().replace('0X', '0x'),
    blockHash: `0x${'AB'.repeat(32)}`,
    topics: [TRANSFER, word(ALICE).toUpperCase().replace('0X', '0x'), word(BOB)],
  });
  expect(parseTransferLogs([log], range)).toEqual([
    {
      position: '0x3',
      contract: CONTRACT,
      blockNumber: 15,
      blockHash: `0x${'ab'.repeat(32)}`,
      accounts: [ALICE, BOB],
      logIndex: 3,
    },
  ]);
});

test.each([
  ['an ERC20 transfer', { topics: [TRANSFER, word(ALICE), word(BOB)] }, [ALICE, BOB]],
  ['an ERC721 transfer', { topics: [TRANSFER, word(ALICE), word(BOB), word(BOB)], data: '0x' }, [ALICE, BOB]],
  ['a mint', { topics: [TRANSFER, word(ZERO), word(BOB)] }, [BOB]],
  ['a burn', { topics: [TRANSFER, word(ALICE), word(ZERO)] }, [ALICE]],
  ['a transfer to oneself', { topics: [TRANSFER, word(ALICE), word(ALICE)] }, [ALICE]],
  ['a single ERC1155 transfer', { topics: [SINGLE, word(OPERATOR), word(ALICE), word(BOB)] }, [ALICE, BOB]],
  ['a batch of ERC1155 transfers', { topics: [BATCH, word(OPERATOR), word(ALICE), word(BOB)] }, [ALICE, BOB]],
  [
    'a transfer without indexed parameters',
    {
      topics: [TRANSFER],
      data: `0x${[ALICE, BOB].map((each) => word(each).slice(2)).join('')}${'f'.repeat(64)}`,
    },
    [ALICE, BOB],
  ],
  [
    'a transfer with one indexed parameter',
    { topics: [TRANSFER, word(ALICE)], data: `0x${word(BOB).slice(2)}${'f'.repeat(64)}` },
    [ALICE, BOB],
  ],
])('%s names its accounts', (_, fields, expected) => {
  expect(accountsOf(fields)).toEqual(expected);
});

test.each([
  ['no list', { logs: [] }, 'malformed'],
  ['a log that is not an object', ['0x'], 'malformed'],
  ['a block below the range', [aLog({ blockNumber: '0x9' })], 'malformed'],
  ['a block above the range', [aLog({ blockNumber: '0x15' })], 'malformed'],
  ['another contract', [aLog({ address: ALICE })], 'malformed'],
  ['another event', [aLog({ topics: [HASH, word(ALICE), word(BOB)] })], 'malformed'],
  ['no topics', [aLog({ topics: [] })], 'malformed'],
  ['a removed log', [aLog({ removed: true })], 'malformed'],
  ['a pending log', [aLog({ blockNumber: null, blockHash: null })], 'malformed'],
  ['a short hash', [aLog({ blockHash: '0x12' })], 'malformed'],
  ['two hashes for one block', [aLog(), aLog({ blockHash: `0x${'22'.repeat(32)}` })], 'block-mismatch'],
])('an answer with %s is refused', (_, answer, expected) => {
  expect(codeOf(answer)).toBe(expected);
});
