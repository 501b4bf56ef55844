import type { AbiType } from '#shared/contracts/rules/abi-type.ts';
import { isAddressText, ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import { distinctWallets, READS_MAX, type WalletGroup } from '#shared/contracts/rules/count-reads.ts';
import {
  type ComposedCondition,
  type Condition,
  type ContractCondition,
  isComposedRule,
  type SumCondition,
  type SumTerm,
  type TokenAmount,
  type TokenCondition,
  type ViewCall,
} from '#shared/contracts/rules/rule.ts';
import { parseTokenIds } from '#shared/contracts/rules/token-ids.ts';
import { type Comparison, planCall, planOutput, refuse, Unplannable } from './plan-call.ts';
import { type DelegationScope, type Delegations, needDelegations } from './plan-delegations.ts';
import { type FailedReading, type Read, ReadCollector, type ReadSource } from './read.ts';
import { isTokenAmount, scaleTokenAmount, TokenRange } from './token-amount.ts';

/** What a wallet holds, or an output for it: an account's in full, the delegated part of a
 * vault's. */
export type Holding = {
  readonly account: string;
  readonly read: Read;
  /** Of a vault. */
  readonly delegations?: Delegations;
};

/** An id, its owner, and the delegations of this id by each vault, which is known by its address as
 * a number. */
export type OwnedId = { readonly owner: Read; readonly delegations: ReadonlyMap<bigint, Delegations> };

/** The reads of an amount, which are made for some wallets. */
export type AmountNeeds = (
  | {
      readonly holdings: readonly Holding[];
      /** Of an output of a view function. */
      readonly type?: AbiType | undefined;
    }
  | {
      readonly ids: readonly OwnedId[];
      /** The addresses as numbers, as `ownerOf` returns them. */
      readonly accounts: ReadonlySet<bigint>;
    }
) & { readonly decimals: number | Read };

/** What a term is multiplied with or divided by: a number that the client wrote, or an output. */
export type WeightNeeds = { readonly value: bigint; readonly decimals: number } | AmountNeeds;

export type TermNeeds = {
  readonly amount: AmountNeeds;
  readonly times?: WeightNeeds | undefined;
  readonly per?: WeightNeeds | undefined;
};

/** A rule and the reads that it needs for the wallets of one person. */
export type RuleNeeds =
  | {
      readonly kind: 'amount';
      readonly rule: TokenCondition;
      readonly range: TokenRange;
      readonly amount: AmountNeeds;
    }
  | {
      readonly kind: 'sum';
      readonly rule: SumCondition;
      readonly range: TokenRange;
      readonly terms: readonly TermNeeds[];
      /** Whether its terms are on several chains: then they are read at one instant. */
      readonly isOverChains: boolean;
    }
  | {
      readonly kind: 'call';
      readonly rule: ContractCondition;
      readonly wallets: readonly Holding[];
      readonly comparison: Comparison;
      /** Of the block, if the comparison is with a time. */
      readonly time?: Read | undefined;
    }
  | { readonly kind: 'composed'; readonly rule: ComposedCondition; readonly rules: readonly RuleNeeds[] }
  | UnreadNeeds;

export type NeedsOf<K extends RuleNeeds['kind']> = Extract<RuleNeeds, { kind: K }>;

/** A rule that is not read. */
type UnreadNeeds = {
  readonly kind: 'unread';
  readonly rule: TokenCondition | SumCondition | ContractCondition;
  readonly reason: FailedReading;
};

/** Rules that are not read: each is undetermined, for the same reason. */
export const unread = (rules: readonly Condition[], reason: FailedReading): RuleNeeds[] =>
  rules.map((rule) =>
    isComposedRule(rule)
      ? { kind: 'composed', rule, rules: unread(rule.rules, reason) }
      : { kind: 'unread', rule, reason },
  );

export type ReadPlan = {
  /** By chain id; each read appears once. Of all wallets that the planner has planned. */
  readonly reads: ReadonlyMap<number, readonly Read[]>;
  /** One entry per rule, in the order of the rules. */
  readonly needs: readonly RuleNeeds[];
};

/** What is configured of the chains. */
type ChainFacts = {
  /** The delegation registry of a chain, in lower case. */
  readonly delegateRegistry: (chainId: number) => string;
  /** The decimals of a chain's native coin. */
  readonly nativeDecimals: (chainId: number) => number;
};

/** Plans the reads of a person's wallets; says why they must not be judged, if so. */
type PlanWallets = (group: WalletGroup) => ReadPlan | { readonly fault: string };

/**
 * Makes the function that plans the reads of a person's wallets: the reads of all rules, those
 * inside of composed rules too. The rules are parsed once, and a read that several rules or persons
 * need is planned once.
 *
 * The gateway has already rejected malformed checks, so a fault here means that another producer
 * wrote the message: the fault is reported and the check is not judged. The caller checks whether
 * each chain is configured.
 *
 * @param readsMax most reads that the wallets of one person may add
 * @example
 * const rules = [{ type: 'NATIVE', chainId: 1, roleId: 'whale', minToken: '100' }];
 * makePlanner(rules, chains)({ account: '0xabc…' });
 * // { reads: Map { 1 => [{ kind: 'native', … }] }, needs: [{ kind: 'amount', amount: { holdings: [{ read: … }], decimals: 18 }, … }] }
 */
export function makePlanner(
  rules: readonly Condition[],
  chains: ChainFacts,
  readsMax: number = READS_MAX.bulk,
): PlanWallets {
  const parser = new RuleParser(chains);
  const { collector } = parser;
  let parsed: readonly PlanRule[];
  try {
    parsed = parser.parseAll('rule', rules, (rule) => parser.parse(rule));
  } catch (error) {
    if (!(error instanceof Unplannable)) throw error;
    return () => ({ fault: error.message });
  }
  return function planWallets(group) {
    const wallets = distinctWallets(group);
    if (!wallets.accounts.every(isAddressText)) return { fault: 'the account is not an address' };
    if (!wallets.vaults.every(isAddressText)) return { fault: 'a vault is not an address' };
    collector.readCount = 0;
    collector.entryIndex += 1;
    const needs: RuleNeeds[] = [];
    for (const planRule of parsed) {
      needs.push(planRule(wallets));
      if (collector.readCount > readsMax)
        return { fault: `rule ${needs.length - 1}: more than ${readsMax} reads` };
    }
    return { reads: collector.reads, needs };
  };
}

type DistinctWallets = ReturnType<typeof distinctWallets>;
type PlanRule = (wallets: DistinctWallets) => RuleNeeds;
type PlanAmount = (wallets: DistinctWallets) => AmountNeeds;
type PlanTerm = (wallets: DistinctWallets) => TermNeeds;

const NO_DELEGATIONS: OwnedId['delegations'] = new Map();

/** An output that is the same for every wallet. */
const ofNoWallet = (calls: ReadSource): Holding => ({ account: ZERO_ADDRESS, read: calls.of(ZERO_ADDRESS) });

/** A new token type does not compile until it is planned. */
const unplanned = (type: never): never => refuse(`a rule of type ${type} has no plan`);

const parseRange = ({ minToken, maxToken }: Pick<TokenCondition, 'minToken' | 'maxToken'>): TokenRange =>
  isTokenAmount(minToken) && isTokenAmount(maxToken ?? '0')
    ? new TokenRange(minToken, maxToken)
    : refuse('an amount is malformed');

/** In lower case. */
const parseContract = (address: string | undefined): string =>
  address !== undefined && isAddressText(address)
    ? address.toLowerCase()
    : refuse('the contract address is not an address');

/** Parses rules, each to the function that plans it for some wallets. What must not be judged is thrown
 * as `Unplannable`. */
class RuleParser {
  readonly collector = new ReadCollector();
  readonly #chains: ChainFacts;

  constructor(chains: ChainFacts) {
    this.#chains = chains;
  }

  /** Names a part that must not be judged by its place. */
  parseAll<R, P>(name: string, parts: readonly R[], parse: (part: R) => P): readonly P[] {
    return parts.map((part, index) => {
      try {
        return parse(part);
      } catch (error) {
        if (error instanceof Unplannable) error.message = `${name} ${index}: ${error.message}`;
        throw error;
      }
    });
  }

  parse(rule: Condition): PlanRule {
    if (rule.type === 'SUM') return this.#parseSum(rule);
    if (isComposedRule(rule)) return this.#parseComposed(rule);
    return rule.type === 'CONTRACT' ? this.#parseCall(rule) : this.#parseToken(rule);
  }

  #parseComposed(rule: ComposedCondition): PlanRule {
    if (rule.rules.length === 0) refuse('a composed rule without rules');
    const parsed = rule.rules.map((each) => this.parse(each));
    return (wallets) => ({ kind: 'composed', rule, rules: parsed.map((planRule) => planRule(wallets)) });
  }

  #parseToken(rule: TokenCondition): PlanRule {
    const range = parseRange(rule);
    const planAmount = this.#parseAmount(rule);
    return (wallets) => ({ kind: 'amount', rule, range, amount: planAmount(wallets) });
  }

  #parseSum(rule: SumCondition): PlanRule {
    const range = parseRange(rule);
    if (rule.rules.length === 0) refuse('a sum without terms');
    const parsed = this.parseAll('term', rule.rules, (term) => this.#parseTerm(term));
    const isOverChains = new Set(rule.rules.map(({ chainId }) => chainId)).size > 1;
    return (wallets) => {
      const terms = parsed.map((planTerm) => planTerm(wallets));
      return { kind: 'sum', rule, range, terms, isOverChains };
    };
  }

  #parseTerm(term: SumTerm): PlanTerm {
    const planAmount = term.type === 'CONTRACT' ? this.#parseOutputs(term) : this.#parseAmount(term);
    const times = this.#parseWeight(term.chainId, term.times);
    const per = this.#parseWeight(term.chainId, term.per);
    return (wallets) => ({ amount: planAmount(wallets), times: times?.(), per: per?.() });
  }

  #parseWeight(chainId: number, weight: SumTerm['times']): (() => WeightNeeds) | undefined {
    if (weight === undefined) return undefined;
    if (typeof weight === 'string') {
      if (!isTokenAmount(weight)) refuse('a factor is malformed');
      const decimals = weight.split('.')[1]?.length ?? 0;
      const number = { decimals, value: scaleTokenAmount(weight, decimals, 'down') };
      return () => number;
    }
    const { calls, isOfWallet, type } = this.#parseOutput(chainId, weight);
    if (isOfWallet) refuse('a weight of a wallet');
    const { decimals = 0 } = weight;
    let needs: WeightNeeds | undefined;
    return () => {
      needs ??= { holdings: [ofNoWallet(calls)], type, decimals };
      return needs;
    };
  }

  #parseOutputs(term: Extract<SumTerm, { type: 'CONTRACT' }>): PlanAmount {
    const { chainId, decimals } = term;
    const { calls, isOfWallet, type, contract } = this.#parseOutput(chainId, term);
    const holdings = this.#holdings(calls, { kind: 'contract', contract });
    return (wallets) => ({
      holdings: isOfWallet ? holdings(wallets) : [ofNoWallet(calls)],
      type,
      decimals,
    });
  }

  /** An unsigned output of a view function. */
  #parseOutput(chainId: number, view: ViewCall) {
    const contract = parseContract(view.contractAddress);
    const { call, type } = planOutput(view);
    if (type.kind !== 'uint') refuse('the output is not an unsigned integer');
    const calls = this.collector.source(chainId, 'call', contract, { call });
    return { calls, type, contract, isOfWallet: call.accountInputs.length > 0 };
  }

  #parseAmount(rule: TokenAmount): PlanAmount {
    const { type, chainId } = rule;
    if (type === 'NATIVE') {
      if (rule.contractAddress !== undefined) refuse('NATIVE with a contract address');
      if (rule.tokenId !== undefined) refuse('NATIVE with a token id');
      const coins = this.collector.source(chainId, 'native', ZERO_ADDRESS);
      const holdings = this.#holdings(coins, { kind: 'all' });
      const decimals = this.#chains.nativeDecimals(chainId);
      return (wallets) => ({ holdings: holdings(wallets), decimals });
    }
    const contract = parseContract(rule.contractAddress);
    if (type === 'ERC20') {
      if (rule.tokenId !== undefined) refuse('ERC20 with a token id');
      const balances = this.collector.source(chainId, 'balance', contract);
      const holdings = this.#holdings(balances, { kind: 'erc20', contract });
      const decimals = this.collector.source(chainId, 'decimals', contract);
      return (wallets) => ({ holdings: holdings(wallets), decimals: decimals.of(ZERO_ADDRESS) });
    }
    if (rule.tokenId === undefined) {
      if (type === 'ERC1155') refuse('ERC1155 without a token id');
      const balances = this.collector.source(chainId, 'balance', contract);
      const holdings = this.#holdings(balances, { kind: 'contract', contract });
      return (wallets) => ({ holdings: holdings(wallets), decimals: 0 });
    }
    const ids = parseTokenIds(rule.tokenId);
    if (!ids.ok) return refuse(`the token ids are malformed (${ids.reason})`);
    if (type === 'ERC721') return this.#parseOwnedIds(chainId, contract, ids.ids);
    if (type !== 'ERC1155') return unplanned(type);
    const ofIds = ids.ids.map((id) => {
      const balances = this.collector.source(chainId, 'balance-of-id', contract, { id });
      return this.#holdings(balances, { kind: 'erc1155', contract, id });
    });
    return (wallets) => ({ holdings: ofIds.flatMap((holdings) => holdings(wallets)), decimals: 0 });
  }

  #parseOwnedIds(chainId: number, contract: string, ids: readonly bigint[]): PlanAmount {
    const owners = ids.map((id) => this.collector.source(chainId, 'owner', contract, { id }));
    // Without vaults they are the same for everybody.
    let undelegated: readonly OwnedId[] | undefined;
    const idsFor = (wallets: DistinctWallets): readonly OwnedId[] => {
      if (wallets.vaults.length === 0) {
        undelegated ??= owners.map((owner) => ({
          owner: owner.of(ZERO_ADDRESS),
          delegations: NO_DELEGATIONS,
        }));
        return undelegated;
      }
      return ids.map((id, index) => {
        const ofVaults = this.#ofVaults(chainId, wallets, { kind: 'owned-id', contract, id });
        const delegations = ofVaults.map(({ vault, delegations }) => [BigInt(vault), delegations] as const);
        return { owner: (owners[index] as ReadSource).of(ZERO_ADDRESS), delegations: new Map(delegations) };
      });
    };
    return (wallets) => ({
      ids: idsFor(wallets),
      accounts: new Set(wallets.accounts.map(BigInt)),
      decimals: 0,
    });
  }

  #parseCall(rule: ContractCondition): PlanRule {
    const contract = parseContract(rule.contractAddress);
    const { call, comparison } = planCall(rule);
    const calls = this.collector.source(rule.chainId, 'call', contract, { call });
    const isTimed = comparison.offset !== undefined;
    const times = isTimed ? this.collector.source(rule.chainId, 'time', ZERO_ADDRESS) : undefined;
    const holdings = this.#holdings(calls, { kind: 'contract', contract });
    return (wallets) => ({
      kind: 'call',
      rule,
      wallets: holdings(wallets),
      comparison,
      time: times?.of(ZERO_ADDRESS),
    });
  }

  /** The reads of the accounts, then those of the vaults. */
  #holdings(source: ReadSource, scope: DelegationScope): (wallets: DistinctWallets) => Holding[] {
    return (wallets) => {
      const own = wallets.accounts.map((account): Holding => ({ account, read: source.of(account) }));
      if (wallets.vaults.length === 0) return own;
      const ofVaults = this.#ofVaults(source.chainId, wallets, scope).map(
        ({ vault, delegations }): Holding => ({ account: vault, read: source.of(vault), delegations }),
      );
      return [...own, ...ofVaults];
    };
  }

  #ofVaults(chainId: number, { accounts, vaults }: DistinctWallets, scope: DelegationScope) {
    return vaults.map((vault) => {
      const registry = this.#chains.delegateRegistry(chainId);
      const delegations = needDelegations(this.collector, { chainId, registry, accounts, vault, scope });
      return { vault, delegations };
    });
  }
}
