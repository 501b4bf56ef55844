import type { Call, Read, ReadKind } from './read.ts';

type Target = { readonly account: string; readonly id?: bigint; readonly call?: Call };

/** Collects the reads of a check; a read that several rules need is created once. */
export class ReadCollector {
  /** By chain id. */
  readonly reads = new Map<number, Read[]>();
  readonly #byKey = new Map<string, Read>();
  /** Counts balances, owners and calls; `decimals()` does not count towards the limit. */
  readCount = 0;

  need(chainId: number, kind: ReadKind, contract: string, { account, id = 0n, call }: Target): Read {
    const key = keyOf(chainId, kind, contract, account, id, call);
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const read: Read = { chainId, kind, contract, account, id, key, ...(call === undefined ? {} : { call }) };
    this.#byKey.set(key, read);
    if (kind !== 'decimals') this.readCount += 1;
    const ofChain = this.reads.get(chainId);
    if (ofChain === undefined) this.reads.set(chainId, [read]);
    else ofChain.push(read);
    return read;
  }
}

function keyOf(
  chainId: number,
  kind: ReadKind,
  contract: string,
  account: string,
  id: bigint,
  call: Call | undefined,
): string {
  switch (kind) {
    case 'native':
      return `${chainId}/native/${account}`;
    case 'balance':
      return `${chainId}/balance/${contract}/${account}`;
    case 'decimals':
      return `${chainId}/decimals/${contract}`;
    case 'owner':
      return `${chainId}/owner/${contract}/${id}`;
    case 'balance-of-id':
      return `${chainId}/balance-of-id/${contract}/${account}/${id}`;
    case 'call':
      return `${chainId}/call/${contract}/${call?.id}/${call?.accountInputs.length === 0 ? '' : account}`;
  }
}
