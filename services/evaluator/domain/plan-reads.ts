import type { AbiType } from '#shared/contracts/rules/abi-type.ts';
import { isAddressText, ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import { distinctWallets, READS_MAX, type WalletGroup } from '#shared/contracts/rules/count-reads.ts';
import {
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
import { type Comparison, type PlanFault, planCall, planOutput } from './plan-call.ts';
import { type DelegationScope, type Delegations, needDelegations } from './plan-delegations.ts';
import type { Read } from './read.ts';
import { ReadCollector, type ReadSource } from './read.ts';
import { isTokenAmount, scaleTokenAmount, TokenRange } from './token-amount.ts';

/** The holding of a wallet: an account's in full, the delegated part of a vault's. */
export type Holding = { readonly balance: Read; readonly delegations?: Delegations };

/** An id, its owner, and the delegations of this id by each vault, which is known by its address as
 * a number. */
export type OwnedId = { readonly owner: Read; readonly delegations: ReadonlyMap<bigint, Delegations> };

/** A call for one wallet. */
export type WalletCall = {
  readonly account: string;
  readonly read: Read;
  /** Of a vault. */
  readonly delegations?: Delegations;
};

/** The reads of an amount, which are made for some wallets. */
export type AmountNeeds =
  | {
      readonly kind: 'balances';
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
  | ({ readonly kind: 'outputs'; readonly holdings: readonly Holding[] } & Output);

/** An unsigned output of a view function, as a number with decimals. */
type Output = { readonly type: AbiType; readonly decimals: number };

/** What a term is multiplied with or divided by: a number that the client wrote, or an output. */
export type WeightNeeds =
  | { readonly kind: 'number'; readonly value: bigint; readonly decimals: number }
  | ({ readonly kind: 'output'; readonly read: Read } & Output);

export type TermNeeds = {
  readonly amount: AmountNeeds;
  readonly times?: WeightNeeds | undefined;
  readonly per?: WeightNeeds | undefined;
};

/** The reads that one rule needs. */
export type RuleNeeds =
  | { readonly kind: 'amount'; readonly range: TokenRange; readonly amount: AmountNeeds }
  | {
      readonly kind: 'sum';
      readonly range: TokenRange;
      readonly terms: readonly TermNeeds[];
      /** Whether its terms are on several chains: then they are read at one instant. */
      readonly isOverChains: boolean;
    }
  | {
      readonly kind: 'call';
      readonly wallets: readonly WalletCall[];
      readonly comparison: Comparison;
      /** Of the block, if the comparison is with a time. */
      readonly time?: Read | undefined;
    }
  | { readonly kind: 'composed'; readonly rules: readonly RuleNeeds[] };

export type ReadPlan = {
  /** By chain id; each read appears once. Of all wallets that the planner has planned. */
  readonly reads: ReadonlyMap<number, readonly Read[]>;
  /** One entry per rule, in the order of the rules. */
  readonly needs: readonly RuleNeeds[];
};

type PlanOptions = {
  /** Most reads that the wallets of one person may add. */
  readonly readsMax?: number;
  /** The delegation registry of a chain, in lower case. */
  readonly delegateRegistry: (chainId: number) => string;
};

/** Plans the reads of a person's wallets; says why they must not be judged, if so. */
type PlanWallets = (group: WalletGroup) => ReadPlan | PlanFault;

/**
 * Makes the function that plans the reads of a person's wallets: the reads of all rules, those
 * inside of composed rules too. The rules are parsed once, and a read that several rules or persons
 * need is planned once.
 *
 * The gateway has already rejected malformed checks, so a fault here means that another producer
 * wrote the message: the fault is reported and the check is not judged. The caller checks whether
 * each chain is configured.
 *
 * @example
 * const rules = [{ type: 'NATIVE', chainId: 1, roleId: 'whale', minToken: '100' }];
 * makePlanner(rules, options)({ account: '0xabc…' });
 * // { reads: Map { 1 => [{ kind: 'native', … }] }, needs: [{ kind: 'amount', holdings: [{ balance: … }], … }] }
 */
export function makePlanner(
  rules: readonly Condition[],
  { readsMax = READS_MAX.bulk, delegateRegistry }: PlanOptions,
): PlanWallets {
  const parser = new RuleParser(delegateRegistry);
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

/** A rule that must not be judged; the message says why. */
class Unplannable extends Error {}

function refuse(fault: string): never {
  throw new Unplannable(fault);
}

const planned = <P extends object>(plan: P | PlanFault): P =>
  'fault' in plan ? refuse((plan as PlanFault).fault) : plan;

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
  readonly #registry: (chainId: number) => string;

  constructor(registry: (chainId: number) => string) {
    this.#registry = registry;
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
    if (isComposedRule(rule)) return this.#parseComposed(rule.rules);
    return rule.type === 'CONTRACT' ? this.#parseCall(rule) : this.#parseToken(rule);
  }

  #parseComposed(rules: readonly Condition[]): PlanRule {
    if (rules.length === 0) refuse('a composed rule without rules');
    const parsed = rules.map((rule) => this.parse(rule));
    return (wallets) => ({ kind: 'composed', rules: parsed.map((planRule) => planRule(wallets)) });
  }

  #parseToken(rule: TokenCondition): PlanRule {
    const range = parseRange(rule);
    const planAmount = this.#parseAmount(rule);
    return (wallets) => ({ kind: 'amount', range, amount: planAmount(wallets) });
  }

  #parseSum(rule: SumCondition): PlanRule {
    const range = parseRange(rule);
    if (rule.rules.length === 0) refuse('a sum without terms');
    const parsed = this.parseAll('term', rule.rules, (term) => this.#parseTerm(term));
    const isOverChains = new Set(rule.rules.map(({ chainId }) => chainId)).size > 1;
    return (wallets) => ({
      kind: 'sum',
      range,
      terms: parsed.map((planTerm) => planTerm(wallets)),
      isOverChains,
    });
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
      const value = scaleTokenAmount(weight, decimals, 'down');
      const number: WeightNeeds = { kind: 'number', decimals, value };
      return () => number;
    }
    const { calls, isOfWallet, type } = this.#parseOutput(chainId, weight);
    if (isOfWallet) refuse('a weight of a wallet');
    const { decimals = 0 } = weight;
    let needs: WeightNeeds | undefined;
    return () => {
      needs ??= { kind: 'output', type, decimals, read: calls.of(ZERO_ADDRESS) };
      return needs;
    };
  }

  #parseOutputs(term: Extract<SumTerm, { type: 'CONTRACT' }>): PlanAmount {
    const { chainId, decimals } = term;
    const { calls, isOfWallet, type, contract } = this.#parseOutput(chainId, term);
    const holdings = this.#holdings(calls, { kind: 'contract', contract });
    return (wallets) => ({
      kind: 'outputs',
      type,
      decimals,
      holdings: isOfWallet ? holdings(wallets) : [{ balance: calls.of(ZERO_ADDRESS) }],
    });
  }

  /** An unsigned output of a view function. */
  #parseOutput(chainId: number, view: ViewCall) {
    const contract = parseContract(view.contractAddress);
    const { call, type } = planned(planOutput(view));
    if (type.kind !== 'uint') refuse('the output is not an unsigned integer');
    const calls = this.collector.source(chainId, 'call', contract, { call });
    return { calls, type, contract, isOfWallet: call.accountInputs.length > 0 };
  }

  #parseAmount(rule: TokenAmount): PlanAmount {
    const { type, chainId } = rule;
    if (type === 'NATIVE') {
      if (rule.contractAddress !== undefined) refuse('NATIVE with a contract address');
      if (rule.tokenId !== undefined) refuse('NATIVE with a token id');
      const holdings = this.#holdings(this.collector.source(chainId, 'native', ZERO_ADDRESS), {
        kind: 'all',
      });
      return (wallets) => ({ kind: 'balances', holdings: holdings(wallets) });
    }
    const contract = parseContract(rule.contractAddress);
    if (type === 'ERC20') {
      if (rule.tokenId !== undefined) refuse('ERC20 with a token id');
      const balances = this.collector.source(chainId, 'balance', contract);
      const holdings = this.#holdings(balances, { kind: 'erc20', contract });
      const decimals = this.collector.source(chainId, 'decimals', contract);
      return (wallets) => ({
        kind: 'balances',
        holdings: holdings(wallets),
        decimals: decimals.of(ZERO_ADDRESS),
      });
    }
    if (rule.tokenId === undefined) {
      if (type === 'ERC1155') refuse('ERC1155 without a token id');
      const balances = this.collector.source(chainId, 'balance', contract);
      const holdings = this.#holdings(balances, { kind: 'contract', contract });
      return (wallets) => ({ kind: 'count', holdings: holdings(wallets) });
    }
    const ids = parseTokenIds(rule.tokenId);
    if (!ids.ok) return refuse(`the token ids are malformed (${ids.reason})`);
    if (type === 'ERC721') return this.#parseOwnedIds(chainId, contract, ids.ids);
    if (type !== 'ERC1155') return unplanned(type);
    const ofIds = ids.ids.map((id) =>
      this.#holdings(this.collector.source(chainId, 'balance-of-id', contract, { id }), {
        kind: 'erc1155',
        contract,
        id,
      }),
    );
    return (wallets) => ({ kind: 'count', holdings: ofIds.flatMap((holdings) => holdings(wallets)) });
  }

  #parseOwnedIds(chainId: number, contract: string, ids: readonly bigint[]): PlanAmount {
    const owners = ids.map((id) => ({
      id,
      owner: this.collector.source(chainId, 'owner', contract, { id }),
    }));
    const ownedId = (owner: ReadSource, delegations = NO_DELEGATIONS): OwnedId => ({
      owner: owner.of(ZERO_ADDRESS),
      delegations,
    });
    // Without vaults they are the same for everybody.
    let undelegated: readonly OwnedId[] | undefined;
    const idsFor = (wallets: DistinctWallets): readonly OwnedId[] => {
      if (wallets.vaults.length === 0) {
        undelegated ??= owners.map(({ owner }) => ownedId(owner));
        return undelegated;
      }
      return owners.map(({ id, owner }) => {
        const ofVaults = this.#ofVaults(chainId, wallets, { kind: 'owned-id', contract, id });
        return ownedId(
          owner,
          new Map(ofVaults.map(({ vault, delegations }) => [BigInt(vault), delegations])),
        );
      });
    };
    return (wallets) => ({
      kind: 'owned-ids',
      ids: idsFor(wallets),
      accounts: new Set(wallets.accounts.map(BigInt)),
    });
  }

  #parseCall(rule: ContractCondition): PlanRule {
    const contract = parseContract(rule.contractAddress);
    const { call, comparison } = planned(planCall(rule));
    const calls = this.collector.source(rule.chainId, 'call', contract, { call });
    const isTimed = comparison.offset !== undefined;
    const times = isTimed ? this.collector.source(rule.chainId, 'time', ZERO_ADDRESS) : undefined;
    return (wallets) => {
      const own = wallets.accounts.map((account): WalletCall => ({ account, read: calls.of(account) }));
      const ofVaults = this.#ofVaults(rule.chainId, wallets, { kind: 'contract', contract }).map(
        ({ vault, delegations }): WalletCall => ({ account: vault, read: calls.of(vault), delegations }),
      );
      return { kind: 'call', wallets: [...own, ...ofVaults], comparison, time: times?.of(ZERO_ADDRESS) };
    };
  }

  /** The balances of the accounts, then those of the vaults. */
  #holdings(balances: ReadSource, scope: DelegationScope): (wallets: DistinctWallets) => Holding[] {
    return (wallets) => {
      const own = wallets.accounts.map((account): Holding => ({ balance: balances.of(account) }));
      if (wallets.vaults.length === 0) return own;
      const ofVaults = this.#ofVaults(balances.chainId, wallets, scope).map(
        ({ vault, delegations }): Holding => ({ balance: balances.of(vault), delegations }),
      );
      return [...own, ...ofVaults];
    };
  }

  #ofVaults(chainId: number, { accounts, vaults }: DistinctWallets, scope: DelegationScope) {
    return vaults.map((vault) => {
      const registry = this.#registry(chainId);
      const delegations = needDelegations(this.collector, { chainId, registry, accounts, vault, scope });
      return { vault, delegations };
    });
  }
}
