import type { Call, Read, ReadKind } from '../../domain/read.ts';

/** The kinds as `reader.yul` counts them. */
const KIND_BYTES: Readonly<Record<ReadKind, string>> = {
  native: '00',
  balance: '01',
  'balance-of-id': '02',
  owner: '03',
  decimals: '04',
  call: '05',
  time: '07',
};

/** In place of the kind: a read that differs from one above by its account alone. */
const REPEATED = '06';
/** Reads above that others may refer to. */
const PLACES_MAX = 256;

/** The outcome of one read inside the reader; see `reader.yul`. */
export const READER_STATUS = {
  ok: 0,
  noCode: 1,
  reverted: 2,
  malformed: 3,
  gasExhausted: 4,
  notTried: 5,
  failedEmpty: 6,
  ownedByNobody: 7,
  okWithoutGasLeft: 8,
} as const;
export type ReaderStatus = (typeof READER_STATUS)[keyof typeof READER_STATUS];

/** Where the block's number comes from: on Arbitrum the EVM's own is that of the parent chain. */
export type BlockSource = 'evm' | 'arbsys';

const WORD_DIGITS = 64;
const HEADER_DIGITS = 4 * WORD_DIGITS;
const ENTRY_DIGITS = 2 + WORD_DIGITS;
const NO_ID = '0'.repeat(WORD_DIGITS);
/** The entry of a wallet that holds nothing. */
const NOTHING_ENTRY = '0'.repeat(ENTRY_DIGITS);

/**
 * The reader's calldata for some reads, `0x` and hex.
 *
 * @param stipend gas for each call of a contract
 *
 * @example
 * encodeReads([read], 250_000, 'evm'); // '0x00000000000003d09001…'
 */
export function encodeReads(reads: readonly Read[], stipend: number, source: BlockSource): string {
  const head = `0x${source === 'evm' ? '00' : '01'}${stipend.toString(16).padStart(16, '0')}`;
  const pieces: string[] = [head];
  const places = new Places();
  for (const read of reads) {
    const { kind, contract, account, id } = read;
    const repeated = places.find(read);
    if (repeated !== undefined) {
      pieces.push(repeated, account.slice(2));
      continue;
    }
    places.add(read);
    pieces.push(KIND_BYTES[kind], contract.slice(2), account.slice(2));
    if (read.call !== undefined) pieces.push(headOf(read.call), read.call.calldata);
    else pieces.push(id === 0n ? NO_ID : id.toString(16).padStart(WORD_DIGITS, '0'));
  }
  return pieces.join('');
}

/** The reads above by their contract: most reads of a call are of a few contracts and many
 * accounts. */
class Places {
  readonly #byContract = new Map<string, { readonly read: Read; readonly text: string }[]>();
  #count = 0;

  /** The text that refers to an earlier read of another account. */
  find({ contract, kind, id, call }: Read): string | undefined {
    const above = this.#byContract.get(contract);
    if (above === undefined) return undefined;
    for (const { read, text } of above)
      if (read.kind === kind && read.id === id && read.call?.id === call?.id) return text;
    return undefined;
  }

  add(read: Read): void {
    const text = REPEATED + digits(this.#count, 1);
    this.#count += 1;
    if (this.#count > PLACES_MAX) return;
    const above = this.#byContract.get(read.contract);
    if (above === undefined) this.#byContract.set(read.contract, [{ read, text }]);
    else above.push({ read, text });
  }
}

const headByCall = new WeakMap<Call, string>();

/** In place of the id: the inputs that are the account, the word, the number of words, the length
 * of the calldata. */
function headOf(call: Call): string {
  const known = headByCall.get(call);
  if (known !== undefined) return known;
  const { accountInputs, word, wordCount, calldata } = call;
  const inputs = accountInputs.reduce((bits, index) => bits + 2 ** index, 0);
  const size = calldata.length / 2;
  const head = (digits(inputs, 4) + digits(word, 1) + digits(wordCount, 1) + digits(size, 2)).padStart(
    WORD_DIGITS,
    '0',
  );
  headByCall.set(call, head);
  return head;
}

const digits = (value: number, bytes: number): string => value.toString(16).padStart(2 * bytes, '0');

/** What EIP-2935's contract answered in a call at block n; lower-case `0x` and 64 hex digits, 0
 * where it has no answer. */
export type KeptPair = {
  /** For block n − 1. */
  readonly parent: string;
  /** For block n − 8 191, whose slot block n + 1 overwrites with the hash of block n. */
  readonly overwritten: string;
};

/** The reader's answer: the block it ran in, the hashes that its state keeps, and a status and a
 * value per read. */
type ReaderAnswer = {
  readonly blockNumber: bigint;
  /** `0x` and 64 hex digits. */
  readonly parentHash: string;
  readonly kept: KeptPair;
  readonly statuses: readonly ReaderStatus[];
  readonly values: readonly bigint[];
};

/**
 * Takes the reader's answer apart; `undefined` if it is not exactly of the length and alphabet it
 * must have.
 *
 * @example
 * decodeAnswer(hex, reads.length)?.values; // [1500500000n]
 */
export function decodeAnswer(answer: unknown, readCount: number): ReaderAnswer | undefined {
  if (typeof answer !== 'string' || answer.length !== 2 + HEADER_DIGITS + readCount * ENTRY_DIGITS)
    return undefined;
  if (!/^0x[0-9a-fA-F]*$/.test(answer)) return undefined;
  const statuses: ReaderStatus[] = [];
  const values: bigint[] = [];
  for (let at = 2 + HEADER_DIGITS; at < answer.length; at += ENTRY_DIGITS) {
    // Most wallets hold nothing, and parsing a number costs ten times as much as comparing it.
    if (answer.startsWith(NOTHING_ENTRY, at)) {
      statuses.push(READER_STATUS.ok);
      values.push(0n);
      continue;
    }
    const status = Number.parseInt(answer.slice(at, at + 2), 16);
    if (status > READER_STATUS.okWithoutGasLeft) return undefined;
    statuses.push(status as ReaderStatus);
    values.push(BigInt(`0x${answer.slice(at + 2, at + ENTRY_DIGITS)}`));
  }
  const hashAt = (word: number): string =>
    `0x${answer.slice(2 + word * WORD_DIGITS, 2 + (word + 1) * WORD_DIGITS).toLowerCase()}`;
  return {
    blockNumber: BigInt(answer.slice(0, 2 + WORD_DIGITS)),
    parentHash: hashAt(1),
    kept: { parent: hashAt(2), overwritten: hashAt(3) },
    statuses,
    values,
  };
}
