import type { Lane } from '#shared/contracts/checks/check-requested.ts';
import {
  type BlockReport,
  UNDETERMINED_CAUSES,
  type Undetermined,
  type UndeterminedCause,
  UndeterminedCode,
} from '#shared/contracts/checks/result.ts';

/** The lanes of reads: sync checks, asynchronous checks, entries of a batch. Earlier lanes are read
 * first. */
export type ReadLane = Lane | 'batch';
export const READ_LANES = ['interactive', 'bulk', 'batch'] as const satisfies readonly ReadLane[];

/**
 * The kinds of reads:
 * - `native`: the account's native coin, in its smallest unit;
 * - `balance`: `balanceOf(account)`, of ERC20 and ERC721 alike;
 * - `balance-of-id`: ERC1155 `balanceOf(account, id)`;
 * - `owner`: ERC721 `ownerOf(id)` as a number; 0 if the contract is an ERC721 but `ownerOf` fails
 *   for this id;
 * - `decimals`: `decimals()`;
 * - `call`: one word of the return data of any view function;
 * - `time`: the time of the block, in Unix seconds.
 */
export type ReadKind = 'native' | 'balance' | 'balance-of-id' | 'owner' | 'decimals' | 'call' | 'time';

/** Whether a read calls a contract. */
export const isOfContract = ({ kind }: Pick<Read, 'kind'>): boolean => kind !== 'native' && kind !== 'time';

/** The first four bytes of calldata name the function. */
const SELECTOR_DIGITS = 8;

/** What a read calls: the standard functions of a contract together, and each function that a client
 * named apart; `''` for a native balance or a time, which call no contract. */
export const calleeOf = (read: Read): string =>
  isOfContract(read) ? `${read.contract}/${read.call?.calldata.slice(0, SELECTOR_DIGITS) ?? ''}` : '';

/** A call of a view function, the same for all wallets but for the words that hold the wallet's
 * address. */
export type Call = {
  /** Hex without `0x`, with the zero address in place of the wallet's. */
  readonly calldata: string;
  /** The inputs that are the wallet's address, by their index. */
  readonly accountInputs: readonly number[];
  /** The returned word that is read, from 0. */
  readonly word: number;
  /** A shorter answer is malformed; further words are ignored. */
  readonly wordCount: number;
  /** Equal exactly for equal calls. */
  readonly id: string;
};

/**
 * One read. Two reads with the same `key` are the same read at any one block; within a check, or a
 * part of a batch, each read is one object.
 */
export type Read = {
  readonly chainId: number;
  readonly kind: ReadKind;
  /** Lower case; the zero address for `native` and `time`. */
  readonly contract: string;
  /**
   * Lower case. Not part of the key of `owner`, `decimals`, `time` and a `call` without inputs of
   * the wallet's address, whose answers do not depend on the account.
   */
  readonly account: string;
  readonly id: bigint;
  /** Of a `call`. */
  readonly call?: Call | undefined;
  /** In a part of a batch: the first entry that needs it, from 0. */
  readonly entryIndex?: number;
  /** Composed when it is first used: most reads of a batch are never looked up by it. */
  readonly key: string;
};

/** One endpoint's answer to one read. Amounts are exact integers, never floating point. */
export type Reading = { readonly ok: true; readonly value: bigint } | ({ readonly ok: false } & Failure);

type Failure = Undetermined & {
  /** The contract itself has reverted the call, whoever makes it: with a reason, where a client has
   * named the function; of `ownerOf`, with or without one. It is not a failure of gas, code or
   * endpoint. */
  readonly isDeciding?: true;
  /** There is no contract at the address: a call of it has shown so, which is part of what the block
   * was proved with. Without it, an answer of `eth_getCode` alone says so. */
  readonly isAbsent?: true;
};

/** The answers of all endpoints to one read, in order of arrival; never empty. */
export type Observation = readonly Reading[];

/** The observations of one chain for the reads of one check, all at one block. */
export type ChainObservations = {
  /** How many equal answers decide a read. */
  readonly quorum: number;
  /** Absent if no block was read. */
  readonly block?: BlockReport | undefined;
  /** When that block was requested as the head, epoch ms; absent if no block was read, or a past
   * one. */
  readonly headAskedAtMs?: number | undefined;
  /** Whether the chain could not be read at the instant of the others whose amounts are added to
   * its own. */
  readonly isBehind?: boolean;
  /** The endpoints that answered, for the lane of batches. */
  readonly answeredBy?: readonly string[] | undefined;
  /** One per read, in the order of the reads. */
  readonly observations: readonly Observation[];
};

/** Whether endpoints gave too few equal answers, so that one more may decide. */
export const isDisputed = (reading: Reading): boolean => !reading.ok && reading.code === 'rpc-disagreement';

export const failed = (reason: UndeterminedCode | UndeterminedCause): FailedReading => FAILED[reason];

export type FailedReading = Extract<Reading, { ok: false }>;

/** The reading of a revert that may decide a rule. */
export const DECIDING_REVERT: FailedReading = Object.freeze({
  ok: false,
  code: 'call-reverted',
  isDeciding: true,
});

/** The reading of a contract that does not exist. */
export const ABSENT: FailedReading = Object.freeze({
  ok: false,
  code: 'contract-not-found',
  isAbsent: true,
});

/** One object per reason, so that a million failed reads cost no memory. */
const FAILED = Object.fromEntries<FailedReading>([
  ...UndeterminedCode.options.map((code) => [code, Object.freeze({ ok: false, code })] as const),
  ...Object.entries(UNDETERMINED_CAUSES).map(
    ([cause, { code }]) =>
      [cause, Object.freeze({ ok: false, code, cause: cause as UndeterminedCause })] as const,
  ),
]) as Readonly<Record<UndeterminedCode | UndeterminedCause, FailedReading>>;

/** A read of a contract without its account. */
type Target = { readonly id?: bigint; readonly call?: Call | undefined };

/** Collects the reads of a check, or of a part of a batch; a read that several rules or entries
 * need is created once. */
export class ReadCollector {
  /** By chain id. */
  readonly reads = new Map<number, Read[]>();
  readonly #sources = new Map<string, ReadSource>();
  /** Counts balances, owners and calls; `decimals()` and times do not count towards the limit. */
  readCount = 0;
  /** The entry whose reads are collected. */
  entryIndex = -1;

  /** The source of the reads that differ only by account. */
  source(chainId: number, kind: ReadKind, contract: string, { id = 0n, call }: Target = {}): ReadSource {
    const key = keyOf(chainId, kind, contract, id, call);
    const known = this.#sources.get(key);
    if (known !== undefined) return known;
    const source = new ReadSource({ chainId, kind, contract, id, call, key }, this);
    this.#sources.set(key, source);
    return source;
  }

  add(read: Read): void {
    if (read.kind !== 'decimals' && read.kind !== 'time') this.readCount += 1;
    const ofChain = this.reads.get(read.chainId);
    if (ofChain === undefined) this.reads.set(read.chainId, [read]);
    else ofChain.push(read);
  }
}

/** The reads that differ only by account. */
export class ReadSource {
  readonly chainId: number;
  readonly #common: Common;
  readonly #collector: ReadCollector;
  readonly #isOfAccount: boolean;
  /** One, by the empty text, where the account does not matter. */
  readonly #byAccount = new Map<string, Read>();

  constructor(common: Common, collector: ReadCollector) {
    this.chainId = common.chainId;
    this.#common = common;
    this.#collector = collector;
    this.#isOfAccount = isOfAccount(common.kind, common.call);
  }

  /** The read for an account, in lower case. */
  of(account: string): Read {
    const suffix = this.#isOfAccount ? account : '';
    const known = this.#byAccount.get(suffix);
    if (known !== undefined) return known;
    const read = new PlannedRead(this.#common, account, suffix, this.#collector.entryIndex);
    this.#byAccount.set(suffix, read);
    this.#collector.add(read);
    return read;
  }
}

/** The members that all reads of a source share; `key` is the beginning of their keys. */
type Common = Omit<Read, 'account' | 'entryIndex'>;

class PlannedRead implements Read {
  readonly chainId: number;
  readonly kind: ReadKind;
  readonly contract: string;
  readonly account: string;
  readonly id: bigint;
  readonly call: Call | undefined;
  readonly #common: Common;
  readonly #entryIndex: number;
  readonly #suffix: string;
  #key: string | undefined;

  constructor(common: Common, account: string, suffix: string, entryIndex: number) {
    this.chainId = common.chainId;
    this.kind = common.kind;
    this.contract = common.contract;
    this.account = account;
    this.id = common.id;
    this.call = common.call;
    this.#entryIndex = entryIndex;
    this.#common = common;
    this.#suffix = suffix;
  }

  get entryIndex(): number {
    return this.#entryIndex;
  }

  get key(): string {
    this.#key ??= this.#common.key + this.#suffix;
    return this.#key;
  }
}

/** Whether the answer depends on the account. */
const isOfAccount = (kind: ReadKind, call: Call | undefined): boolean =>
  kind !== 'decimals' && kind !== 'owner' && kind !== 'time' && call?.accountInputs.length !== 0;

/** The key of a read, but for its account. */
function keyOf(
  chainId: number,
  kind: ReadKind,
  contract: string,
  id: bigint,
  call: Call | undefined,
): string {
  switch (kind) {
    case 'native':
    case 'time':
      return `${chainId}/${kind}/`;
    case 'balance':
    case 'decimals':
      return `${chainId}/${kind}/${contract}/`;
    case 'owner':
    case 'balance-of-id':
      return `${chainId}/${kind}/${contract}/${id}/`;
    case 'call':
      return `${chainId}/call/${contract}/${call?.id}/`;
  }
}
