import { AbiCoder, concat, solidityPacked, toBeHex, zeroPadValue } from 'ethers';
import fc from 'fast-check';
import type { Read, ReadKind } from '../../domain/read.ts';
import { decodeAnswer, encodeReads, READER_STATUS } from './reader-codec.ts';

const KINDS: readonly ReadKind[] = ['native', 'balance', 'balance-of-id', 'owner', 'decimals'];
const anUint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const anAddress = fc
  .bigInt({ min: 0n, max: 2n ** 160n - 1n })
  .map((value) => toBeHex(value, 20).toLowerCase());
const aRead: fc.Arbitrary<Read> = fc.record({
  chainId: fc.constant(1),
  kind: fc.constantFrom(...KINDS),
  contract: anAddress,
  account: anAddress,
  id: anUint256,
  key: fc.constant(''),
});

test('calldata is what the packed codec of ethers makes', () => {
  fc.assert(
    fc.property(
      fc.array(aRead, { maxLength: 20 }),
      fc.integer({ min: 0, max: 2 ** 40 }),
      (reads, stipend) => {
        const entries = reads.map(({ kind, contract, account, id }) =>
          solidityPacked(
            ['uint8', 'address', 'address', 'uint256'],
            [KINDS.indexOf(kind), contract, account, id],
          ),
        );
        const expected = concat([solidityPacked(['uint8', 'uint64'], [0, stipend]), ...entries]);
        expect(encodeReads(reads, stipend, 'evm')).toBe(expected.toLowerCase());
      },
    ),
  );
});

test('an answer is read as the codec of ethers wrote it', () => {
  const anEntry = fc.record({ status: fc.integer({ min: 0, max: 7 }), value: anUint256 });
  fc.assert(
    fc.property(anUint256, anUint256, fc.array(anEntry, { maxLength: 20 }), (number, parent, entries) => {
      const head = AbiCoder.defaultAbiCoder().encode(['uint256', 'bytes32'], [number, toBeHex(parent, 32)]);
      const answer = concat([
        head,
        ...entries.map(({ status, value }) => concat([toBeHex(status, 1), zeroPadValue(toBeHex(value), 32)])),
      ]);
      expect(decodeAnswer(answer, entries.length)).toEqual({
        blockNumber: number,
        parentHash: toBeHex(parent, 32),
        statuses: entries.map(({ status }) => status),
        values: entries.map(({ value }) => value),
      });
    }),
  );
});

const ONE_READ = `0x${'00'.repeat(64)}00${'00'.repeat(32)}`;

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['an object', {}],
  ['no code at the reader', '0x'],
  ['one byte short', ONE_READ.slice(0, -2)],
  ['half a byte short', ONE_READ.slice(0, -1)],
  ['one byte long', `${ONE_READ}00`],
  ['an answer to two reads', `${ONE_READ}00${'00'.repeat(32)}`],
  ['no hex', `0x${'zz'.repeat(64)}00${'00'.repeat(32)}`],
  ['a status that there is not', `0x${'00'.repeat(64)}08${'00'.repeat(32)}`],
])('an answer of another form decides nothing: %s', (_, answer) => {
  expect(decodeAnswer(answer, 1)).toBeUndefined();
});

test('what looks like the answer to one read is one', () => {
  expect(decodeAnswer(ONE_READ, 1)?.statuses).toEqual([READER_STATUS.ok]);
});
