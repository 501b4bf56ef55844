import { AbiCoder, concat, solidityPacked, toBeHex, zeroPadValue } from 'ethers';
import fc from 'fast-check';
import type { Call, Read, ReadKind } from '../../domain/read.ts';
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

test('calldata equals that of the packed codec of ethers', () => {
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

/** The entries that calldata stands for if each read is written out, as `reader.yul` reads it. */
function expand(calldata: string): string[] {
  const bytes = calldata.slice(2 + 18);
  const placed: string[] = [];
  const entries: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const isRepeated = bytes.startsWith('06', at);
    const above = isRepeated ? placed[Number.parseInt(bytes.slice(at + 2, at + 4), 16)] : undefined;
    const callSize = bytes.startsWith('05', at) ? Number.parseInt(bytes.slice(at + 142, at + 146), 16) : 0;
    const size = isRepeated ? 44 : 146 + 2 * callSize;
    const entry = bytes.slice(at, at + size);
    if (!isRepeated && placed.length < 256) placed.push(entry);
    entries.push(isRepeated ? `${above?.slice(0, 42)}${entry.slice(4)}${above?.slice(82)}` : entry);
    at += size;
  }
  return entries;
}

/** Two calls of one function, which differ by the inputs that are the account. */
const CALLS: readonly Call[] = [[0], [1]].map((accountInputs) => ({
  calldata: `12345678${'0'.repeat(128)}`,
  accountInputs,
  word: 2,
  wordCount: 3,
  id: `12345678/${accountInputs}`,
}));

test('reads that differ by their account alone are encoded in 22 bytes, and decode to the same reads', () => {
  const contract = fc.constantFrom(`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`);
  const aTarget = fc.oneof(
    fc.record({
      kind: fc.constantFrom(...KINDS),
      contract,
      id: fc.constantFrom(0n, 1n, 2n ** 256n - 1n),
      call: fc.constant(undefined),
    }),
    // Each call is another object with the same id, as the rules of two checks have them.
    fc.record({
      kind: fc.constant<ReadKind>('call'),
      contract,
      id: fc.constant(0n),
      call: fc.constantFrom(...CALLS).map((call) => ({ ...call })),
    }),
  );
  const aReadOfFew = fc.tuple(aTarget, anAddress).map(([target, account]) => ({ ...target, account }));
  fc.assert(
    fc.property(fc.array(aReadOfFew, { maxLength: 60 }), (some) => {
      const reads = some.map((read): Read => ({ ...read, chainId: 1, key: '' }));
      const encoded = encodeReads(reads, 1, 'evm');
      const alone = reads.map((read) => encodeReads([read], 1, 'evm').slice(2 + 18));
      expect(expand(encoded)).toEqual(alone);
      const written = new Map(
        some.map(({ kind, contract, id, call }, i) => [
          `${kind} ${contract} ${id} ${call?.id}`,
          alone[i]?.length ?? 0,
        ]),
      );
      const digits = [...written.values()].reduce((sum, length) => sum + length, 0);
      expect(encoded.length).toBe(2 + 18 + digits + 44 * (reads.length - written.size));
    }),
  );
});

test('a call is written with the inputs that are the account, the word, the number of words and its length', () => {
  const contract = `0x${'a1'.repeat(20)}`;
  const account = `0x${'c3'.repeat(20)}`;
  const call = {
    calldata: `12345678${'0'.repeat(64 * 31)}`,
    accountInputs: [0, 30],
    word: 2,
    wordCount: 3,
    id: '',
  };
  const read: Read = { chainId: 1, kind: 'call', contract, account, id: 0n, call, key: '' };
  expect(encodeReads([read], 1, 'evm').slice(2 + 18)).toBe(
    `05${'a1'.repeat(20)}${'c3'.repeat(20)}${'00'.repeat(24)}40000001020303e4${call.calldata}`,
  );
});

test('a read repeats one of the first 256 that are written out, and no later one', () => {
  const readOf = (contract: number, account: number): Read => ({
    chainId: 1,
    kind: 'balance',
    contract: toBeHex(contract, 20),
    account: toBeHex(account, 20),
    id: 0n,
    key: '',
  });
  const reads = Array.from({ length: 300 }, (_, index) => [readOf(index, 1), readOf(index, 2)]).flat();
  const encoded = encodeReads(reads, 1, 'evm');
  expect(expand(encoded)).toEqual(reads.map((read) => encodeReads([read], 1, 'evm').slice(2 + 18)));
  expect(encoded.length).toBe(2 + 18 + 256 * (146 + 44) + 44 * 2 * 146);
});

test('an answer is read as the codec of ethers wrote it', () => {
  const anEntry = fc.record({ status: fc.integer({ min: 0, max: 7 }), value: anUint256 });
  fc.assert(
    fc.property(
      anUint256,
      fc.tuple(anUint256, anUint256, anUint256),
      fc.array(anEntry, { maxLength: 20 }),
      (number, hashes, entries) => {
        const [parentHash, parent, overwritten] = hashes.map((hash) => toBeHex(hash, 32));
        const head = AbiCoder.defaultAbiCoder().encode(
          ['uint256', 'bytes32', 'bytes32', 'bytes32'],
          [number, parentHash, parent, overwritten],
        );
        const answer = concat([
          head,
          ...entries.map(({ status, value }) =>
            concat([toBeHex(status, 1), zeroPadValue(toBeHex(value), 32)]),
          ),
        ]);
        expect(decodeAnswer(answer, entries.length)).toEqual({
          blockNumber: number,
          parentHash,
          kept: { parent, overwritten },
          statuses: entries.map(({ status }) => status),
          values: entries.map(({ value }) => value),
        });
      },
    ),
  );
});

const ONE_READ = `0x${'00'.repeat(128)}00${'00'.repeat(32)}`;

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['an object', {}],
  ['no code at the reader', '0x'],
  ['one byte short', ONE_READ.slice(0, -2)],
  ['half a byte short', ONE_READ.slice(0, -1)],
  ['one byte long', `${ONE_READ}00`],
  ['an answer to two reads', `${ONE_READ}00${'00'.repeat(32)}`],
  ['no hex', `0x${'zz'.repeat(128)}00${'00'.repeat(32)}`],
  ['a status that there is not', `0x${'00'.repeat(128)}09${'00'.repeat(32)}`],
])('an answer of another form decides nothing: %s', (_, answer) => {
  expect(decodeAnswer(answer, 1)).toBeUndefined();
});

test('accepts a well-formed answer to one read', () => {
  expect(decodeAnswer(ONE_READ, 1)?.statuses).toEqual([READER_STATUS.ok]);
});
