import type { Call, Read, ReadKind } from './read.ts';

/** A read of a contract without its account. */
type Target = { readonly id?: bigint; readonly call?: Call | undefined };

/** Collects the reads of a check, or of a part of a batch; a read that several rules or entries need is created once. */
export class ReadCollector {
  /** By chain id. */
  readonly reads = new Map<number, Read[]>();
  readonly #sources = new Map<string, ReadSource>();
  /** Counts balances, owners and calls; `decimals()` does not count towards the limit. */
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
    if (read.kind !== 'decimals') this.readCount += 1;
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
    return this.#common.key + this.#suffix;
  }
}

/** Whether the answer depends on the account. */
const isOfAccount = (kind: ReadKind, call: Call | undefined): boolean =>
  kind !== 'decimals' && kind !== 'owner' && call?.accountInputs.length !== 0;

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
      return `${chainId}/native/`;
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
