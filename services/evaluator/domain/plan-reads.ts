import { isAddressText, ZERO_ADDRESS } from '#shared/contracts/address.ts';
import { READS_MAX } from '#shared/contracts/count-reads.ts';
import { isTokenRule, type Rule, type TokenRule } from '#shared/contracts/rule.ts';
import { parseTokenIds } from '#shared/contracts/token-ids.ts';
import type { Read, ReadKind } from './read.ts';
import { isTokenAmount } from './token-amount.ts';

/** The reads that one rule needs. */
export type RuleNeeds =
  | { readonly kind: 'amount'; readonly balance: Read; readonly decimals?: Read }
  | { readonly kind: 'count'; readonly balance: Read }
  | { readonly kind: 'owned-ids'; readonly owners: readonly Read[] }
  | { readonly kind: 'sum'; readonly balances: readonly Read[] };

export type ReadPlan = {
  /** By chain id; each read appears once. */
  readonly reads: ReadonlyMap<number, readonly Read[]>;
  /** One entry per rule, in the order of the rules. */
  readonly needs: readonly RuleNeeds[];
};

/** Why a check must not be judged. */
export type PlanFault = { readonly fault: string };

/**
 * Plans the reads of a check: what each rule needs, every read once.
 *
 * The gateway has already rejected malformed checks, so a fault here means that another producer wrote the message: the
 * fault is reported and the check is not judged. The caller checks whether each chain is configured.
 *
 * @example
 * planReads('0xabc…', [{ type: 'NATIVE', chainId: 1, roleId: 'whale', minToken: '100' }]);
 * // { reads: Map { 1 => [{ kind: 'native', … }] }, needs: [{ kind: 'amount', balance: { kind: 'native', … } }] }
 */
export function planReads(
  account: string,
  rules: readonly Rule[],
  readsMax: number = READS_MAX.bulk,
): ReadPlan | PlanFault {
  if (!isAddressText(account)) return { fault: 'the account is not an address' };
  const collector = new ReadCollector(account.toLowerCase());
  const needs: RuleNeeds[] = [];
  for (const [index, rule] of rules.entries()) {
    const planned = isTokenRule(rule) ? planRule(rule, collector) : { fault: `the type ${rule.type}` };
    if ('fault' in planned) return { fault: `rule ${index}: ${planned.fault}` };
    if (collector.readCount > readsMax) return { fault: `more than ${readsMax} reads` };
    needs.push(planned);
  }
  return { reads: collector.reads, needs };
}

function planRule(rule: TokenRule, collector: ReadCollector): RuleNeeds | PlanFault {
  const { type, chainId } = rule;
  if (!isTokenAmount(rule.minToken) || !isTokenAmount(rule.maxToken ?? '0'))
    return { fault: 'an amount is malformed' };
  if (type === 'NATIVE') {
    if (rule.contractAddress !== undefined) return { fault: 'NATIVE with a contract address' };
    if (rule.tokenId !== undefined) return { fault: 'NATIVE with a token id' };
    return { kind: 'amount', balance: collector.need(chainId, 'native', ZERO_ADDRESS) };
  }
  if (rule.contractAddress === undefined || !isAddressText(rule.contractAddress))
    return { fault: 'the contract address is not an address' };
  const contract = rule.contractAddress.toLowerCase();
  if (type === 'ERC20') {
    if (rule.tokenId !== undefined) return { fault: 'ERC20 with a token id' };
    const balance = collector.need(chainId, 'balance', contract);
    return { kind: 'amount', balance, decimals: collector.need(chainId, 'decimals', contract) };
  }
  if (rule.tokenId === undefined) {
    if (type === 'ERC1155') return { fault: 'ERC1155 without a token id' };
    return { kind: 'count', balance: collector.need(chainId, 'balance', contract) };
  }
  const parsed = parseTokenIds(rule.tokenId);
  if (!parsed.ok) return { fault: `the token ids are malformed (${parsed.reason})` };
  const readsOf = (kind: ReadKind) => parsed.ids.map((id) => collector.need(chainId, kind, contract, id));
  return type === 'ERC721'
    ? { kind: 'owned-ids', owners: readsOf('owner') }
    : { kind: 'sum', balances: readsOf('balance-of-id') };
}

/** Collects the reads of a check; a read that several rules need is created once. */
class ReadCollector {
  readonly reads = new Map<number, Read[]>();
  readonly #byKey = new Map<string, Read>();
  readonly #account: string;
  /** Counts balances and owners; `decimals()` does not count towards the limit. */
  readCount = 0;

  constructor(account: string) {
    this.#account = account;
  }

  need(chainId: number, kind: ReadKind, contract: string, id = 0n): Read {
    const key = keyOf(chainId, kind, contract, this.#account, id);
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const read: Read = { chainId, kind, contract, account: this.#account, id, key };
    this.#byKey.set(key, read);
    if (kind !== 'decimals') this.readCount += 1;
    const ofChain = this.reads.get(chainId);
    if (ofChain === undefined) this.reads.set(chainId, [read]);
    else ofChain.push(read);
    return read;
  }
}

function keyOf(chainId: number, kind: ReadKind, contract: string, account: string, id: bigint): string {
  if (kind === 'native') return `${chainId}/native/${account}`;
  if (kind === 'balance') return `${chainId}/balance/${contract}/${account}`;
  if (kind === 'decimals') return `${chainId}/decimals/${contract}`;
  if (kind === 'owner') return `${chainId}/owner/${contract}/${id}`;
  return `${chainId}/balance-of-id/${contract}/${account}/${id}`;
}
