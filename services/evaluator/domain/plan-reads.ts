import { isAddressText, ZERO_ADDRESS } from '#shared/contracts/address.ts';
import { distinctWallets, READS_MAX, type WalletGroup } from '#shared/contracts/count-reads.ts';
import {
  type Condition,
  type ContractCondition,
  isComposedRule,
  type TokenCondition,
} from '#shared/contracts/rule.ts';
import { parseTokenIds } from '#shared/contracts/token-ids.ts';
import { type Comparison, type PlanFault, planCall } from './plan-call.ts';
import { type DelegationScope, type Delegations, needDelegations } from './plan-delegations.ts';
import type { Read } from './read.ts';
import { ReadCollector } from './read-collector.ts';
import { isTokenAmount } from './token-amount.ts';

export type { PlanFault };

/** What a wallet holds: a vault as far as it is delegated, an account in full. */
export type Holding = { readonly balance: Read; readonly delegations?: Delegations };

/** An id, its owner, and the delegations of this id by each vault, which is known by its address as a number. */
export type OwnedId = { readonly owner: Read; readonly delegations: ReadonlyMap<bigint, Delegations> };

/** A call for one wallet. */
export type WalletCall = {
  readonly account: string;
  readonly read: Read;
  /** Of a vault. */
  readonly delegations?: Delegations;
};

/** The reads that one rule needs. */
export type RuleNeeds =
  | {
      readonly kind: 'amount';
      readonly holdings: readonly Holding[];
      /** Absent for the native coin. */
      readonly decimals?: Read;
    }
  | { readonly kind: 'count'; readonly holdings: readonly Holding[] }
  | {
      readonly kind: 'owned-ids';
      readonly ids: readonly OwnedId[];
      /** The addresses as numbers, as `ownerOf` returns them. */
      readonly accounts: ReadonlySet<bigint>;
    }
  | { readonly kind: 'call'; readonly wallets: readonly WalletCall[]; readonly comparison: Comparison }
  | { readonly kind: 'composed'; readonly rules: readonly RuleNeeds[] };

export type ReadPlan = {
  /** By chain id; each read appears once. */
  readonly reads: ReadonlyMap<number, readonly Read[]>;
  /** One entry per rule, in the order of the rules. */
  readonly needs: readonly RuleNeeds[];
};

export type PlanOptions = {
  readonly readsMax?: number;
  /** The delegation registry of a chain, in lower case. */
  readonly delegateRegistry: (chainId: number) => string;
};

/**
 * Plans the reads of a check: what each rule needs, every read once, those inside of composed rules too.
 *
 * The gateway has already rejected malformed checks, so a fault here means that another producer wrote the message: the
 * fault is reported and the check is not judged. The caller checks whether each chain is configured.
 *
 * @example
 * planReads({ account: '0xabc…' }, [{ type: 'NATIVE', chainId: 1, roleId: 'whale', minToken: '100' }], options);
 * // { reads: Map { 1 => [{ kind: 'native', … }] }, needs: [{ kind: 'amount', holdings: [{ balance: … }] }] }
 */
export function planReads(
  group: WalletGroup,
  rules: readonly Condition[],
  { readsMax = READS_MAX.bulk, delegateRegistry }: PlanOptions,
): ReadPlan | PlanFault {
  const wallets = distinctWallets(group);
  if (!wallets.accounts.every(isAddressText)) return { fault: 'the account is not an address' };
  if (!wallets.vaults.every(isAddressText)) return { fault: 'a vault is not an address' };
  const planner = new Planner(wallets, delegateRegistry, readsMax);
  const needs: RuleNeeds[] = [];
  for (const [index, rule] of rules.entries()) {
    const planned = planner.plan(rule);
    if ('fault' in planned) return { fault: `rule ${index}: ${planned.fault}` };
    needs.push(planned);
  }
  return { reads: planner.collector.reads, needs };
}

/** Plans the rules of one check. */
class Planner {
  readonly collector = new ReadCollector();
  readonly #accounts: readonly string[];
  readonly #vaults: readonly string[];
  readonly #registry: (chainId: number) => string;
  readonly #readsMax: number;

  constructor(
    { accounts, vaults }: ReturnType<typeof distinctWallets>,
    registry: (chainId: number) => string,
    readsMax: number,
  ) {
    this.#accounts = accounts;
    this.#vaults = vaults;
    this.#registry = registry;
    this.#readsMax = readsMax;
  }

  plan(rule: Condition): RuleNeeds | PlanFault {
    if (isComposedRule(rule)) return this.#planComposed(rule.rules);
    const needs = rule.type === 'CONTRACT' ? this.#planCalls(rule) : this.#planToken(rule);
    return this.collector.readCount > this.#readsMax ? { fault: `more than ${this.#readsMax} reads` } : needs;
  }

  #planComposed(rules: readonly Condition[]): RuleNeeds | PlanFault {
    const planned: RuleNeeds[] = [];
    for (const rule of rules) {
      const needs = this.plan(rule);
      if ('fault' in needs) return needs;
      planned.push(needs);
    }
    return planned.length > 0
      ? { kind: 'composed', rules: planned }
      : { fault: 'a composed rule without rules' };
  }

  #planToken(rule: TokenCondition): RuleNeeds | PlanFault {
    const { type, chainId } = rule;
    if (!isTokenAmount(rule.minToken) || !isTokenAmount(rule.maxToken ?? '0'))
      return { fault: 'an amount is malformed' };
    if (type === 'NATIVE') {
      if (rule.contractAddress !== undefined) return { fault: 'NATIVE with a contract address' };
      if (rule.tokenId !== undefined) return { fault: 'NATIVE with a token id' };
      const native = (account: string) => this.collector.need(chainId, 'native', ZERO_ADDRESS, { account });
      return { kind: 'amount', holdings: this.#holdings(chainId, native, { kind: 'all' }) };
    }
    if (rule.contractAddress === undefined || !isAddressText(rule.contractAddress))
      return { fault: 'the contract address is not an address' };
    const contract = rule.contractAddress.toLowerCase();
    const balance = (account: string) => this.collector.need(chainId, 'balance', contract, { account });
    if (type === 'ERC20') {
      if (rule.tokenId !== undefined) return { fault: 'ERC20 with a token id' };
      const holdings = this.#holdings(chainId, balance, { kind: 'erc20', contract });
      const decimals = this.collector.need(chainId, 'decimals', contract, { account: ZERO_ADDRESS });
      return { kind: 'amount', holdings, decimals };
    }
    if (rule.tokenId === undefined) {
      if (type === 'ERC1155') return { fault: 'ERC1155 without a token id' };
      return { kind: 'count', holdings: this.#holdings(chainId, balance, { kind: 'contract', contract }) };
    }
    const parsed = parseTokenIds(rule.tokenId);
    if (!parsed.ok) return { fault: `the token ids are malformed (${parsed.reason})` };
    if (type === 'ERC721') return this.#planOwnedIds(chainId, contract, parsed.ids);
    const holdings = parsed.ids.flatMap((id) => {
      const ofId = (account: string) =>
        this.collector.need(chainId, 'balance-of-id', contract, { account, id });
      return this.#holdings(chainId, ofId, { kind: 'erc1155', contract, id });
    });
    return { kind: 'count', holdings };
  }

  #planOwnedIds(chainId: number, contract: string, ids: readonly bigint[]): RuleNeeds {
    const planned = ids.map((id): OwnedId => {
      const owner = this.collector.need(chainId, 'owner', contract, { account: ZERO_ADDRESS, id });
      const delegations = this.#vaults.map((vault): [bigint, Delegations] => [
        BigInt(vault),
        this.#delegations(chainId, vault, { kind: 'owned-id', contract, id }),
      ]);
      return { owner, delegations: new Map(delegations) };
    });
    return { kind: 'owned-ids', ids: planned, accounts: new Set(this.#accounts.map(BigInt)) };
  }

  #planCalls(rule: ContractCondition): RuleNeeds | PlanFault {
    if (!isAddressText(rule.contractAddress)) return { fault: 'the contract address is not an address' };
    const planned = planCall(rule);
    if ('fault' in planned) return planned;
    const { call, comparison } = planned;
    const contract = rule.contractAddress.toLowerCase();
    const walletCall = (account: string) => ({
      account,
      read: this.collector.need(rule.chainId, 'call', contract, { account, call }),
    });
    const ofVault = (vault: string) => ({
      ...walletCall(vault),
      delegations: this.#delegations(rule.chainId, vault, { kind: 'contract', contract }),
    });
    return {
      kind: 'call',
      wallets: [...this.#accounts.map(walletCall), ...this.#vaults.map(ofVault)],
      comparison,
    };
  }

  #holdings(chainId: number, read: (account: string) => Read, scope: DelegationScope): Holding[] {
    const own: Holding[] = this.#accounts.map((account) => ({ balance: read(account) }));
    const ofVaults = this.#vaults.map((vault) => ({
      balance: read(vault),
      delegations: this.#delegations(chainId, vault, scope),
    }));
    return ofVaults.length === 0 ? own : [...own, ...ofVaults];
  }

  #delegations(chainId: number, vault: string, scope: DelegationScope): Delegations {
    return needDelegations(this.collector, chainId, this.#registry(chainId), this.#accounts, vault, scope);
  }
}
