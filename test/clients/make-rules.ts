import type { Condition, Rule, TokenRule } from '#shared/contracts/rules/rule.ts';
import type { Deployment, Target } from './deploy-tokens.ts';
import { makeNodeJudge, NATIVE_DECIMALS, type NodeJudge, type Wallets } from './judge-by-node.ts';
import { composedRules } from './make-composed-rules.ts';
import { contractRules } from './make-contract-rules.ts';
import type { NodeOracle } from './node-oracle.ts';
import { CHAIN_ID } from './start-clients.ts';

/** Decimals of the amounts in rules. */
const FRACTION_DIGITS_MAX = 36;
/** Ids that the tokens have, lack and cannot have. */
const IDS = [...Array.from({ length: 14 }, (_, id) => BigInt(id)), 2n ** 256n - 1n];
/** Ids of a batch of 4 000: about 1.1, 2.6, 5.7 and 8.8 million gas each. */
const EXPENSIVE_IDS: Readonly<Record<string, readonly bigint[]>> = {
  Erc721aExpensive: [499n, 1_200n, 2_600n, 3_999n, 4_001n, 4_007n, 4_008n],
};
const SUMMED_IDS = [1n, 2n, 3n, 7n, 2n ** 256n - 1n];
/** All kinds in one list. */
const IDS_PER_LIST = 3;
/** The contracts that also get rules for several wallets, vaults and a past block. */
const SHARED_TARGETS =
  /^(Oz5|Oz1Erc20$|Solmate20|Solady|StakedAave|AssertStyle|CostlyErc20|TwoWords|Safe$|EIP-7702|nobody|precompile 4)/;

/** The rules of one check. */
export type Case = {
  readonly target: string;
  readonly wallets: Wallets;
  readonly rules: readonly Rule[];
  /** The verdicts by the node's own answers at the block. */
  readonly judge: NodeJudge;
  readonly block: NodeOracle['block'];
  /** Whether the check names the block. */
  readonly isPast: boolean;
};

type Source = Pick<Case, 'judge' | 'block' | 'isPast'> & { readonly oracle: NodeOracle };

/** Rules of every type for every contract and person, each at its boundary by the node's
 * answers. */
export async function makeCases(deployment: Deployment, now: NodeOracle, past: NodeOracle): Promise<Case[]> {
  const { accounts, targets, registry } = deployment;
  const { key, safe, delegator, stranger } = accounts;
  const sourceOf = (oracle: NodeOracle, isPast: boolean): Source => ({
    oracle,
    block: oracle.block,
    isPast,
    judge: makeNodeJudge(oracle, registry),
  });
  const alone = Object.values(accounts).map((account): Wallets => ({ accounts: [account], vaults: [] }));
  const groups: Wallets[] = [
    { accounts: [key, safe], vaults: [] },
    { accounts: [stranger, delegator, safe], vaults: [] },
    { accounts: [stranger], vaults: [key] },
    { accounts: [stranger], vaults: [delegator] },
    { accounts: [stranger, safe], vaults: [safe, delegator, key, key] },
  ];
  const shared = targets.filter(({ name }) => SHARED_TARGETS.test(name));
  const [atHead, inPast] = [sourceOf(now, false), sourceOf(past, true)];
  return [
    ...(await casesOf(alone, targets, atHead)),
    ...(await casesOf(groups, shared, atHead)),
    ...(await casesOf([...alone, ...groups], shared, inPast)),
  ];
}

async function casesOf(
  people: readonly Wallets[],
  targets: readonly Target[],
  { oracle, ...at }: Source,
): Promise<Case[]> {
  const cases: Case[] = [];
  for (const wallets of people) {
    const native: Base = { type: 'NATIVE', chainId: CHAIN_ID, roleId: '' };
    const amount = await at.judge.amountOf({ ...native, minToken: '1' }, wallets);
    const rules = boundaries(native, amount, NATIVE_DECIMALS);
    const ofTarget = async (target: Target): Promise<Case> => {
      const simple = [
        ...(await amountRules(target, wallets, oracle, at.judge)),
        ...(await ownerRules(target, wallets, oracle)),
        ...(await sumRules(target, wallets, at.judge)),
        ...(await contractRules(target, wallets, oracle)),
      ];
      const isCostly = target.name in EXPENSIVE_IDS || target.name.startsWith('Costly');
      const composed = isCostly ? [] : composedRules([...rules, ...simple] as Condition[], cases.length);
      return { target: target.name, wallets, rules: [...simple, ...composed], ...at };
    };
    cases.push({ target: 'native coin', wallets, rules, ...at });
    cases.push(...(await Promise.all(targets.map(ofTarget))));
  }
  return cases;
}

type Base = Omit<TokenRule, 'minToken'>;
const baseOf = (type: TokenRule['type'], { address }: Target): Base => ({
  type,
  chainId: CHAIN_ID,
  contractAddress: address,
  roleId: '',
});

/** Exactly enough, one unit too little, at the upper bound, and one unit above it. */
function boundaries(base: Base, amount: bigint, decimals: number): TokenRule[] {
  const text = (units: bigint) => toText(units, decimals);
  return [
    { ...base, minToken: text(amount), maxToken: text(amount) },
    { ...base, minToken: text(amount === 0n ? 1n : amount) },
    { ...base, minToken: text(amount + 1n) },
    // More digits than the token has: the amount is rounded up, to one unit more.
    ...(decimals < FRACTION_DIGITS_MAX
      ? [{ ...base, minToken: withOneDigitMore(text(amount), decimals) }]
      : []),
    ...(amount === 0n ? [] : [{ ...base, minToken: '0', maxToken: text(amount - 1n) }]),
  ];
}

async function amountRules(
  target: Target,
  wallets: Wallets,
  oracle: NodeOracle,
  judge: NodeJudge,
): Promise<TokenRule[]> {
  const decimals = await oracle.decimals(target.address);
  const [count, fungible] = [baseOf('ERC721', target), baseOf('ERC20', target)];
  const counted = await judge.amountOf({ ...count, minToken: '1' }, wallets);
  const whole = boundaries(count, counted, 0).filter(({ minToken }) => !minToken.includes('.'));
  if (decimals === undefined || decimals > FRACTION_DIGITS_MAX)
    return [...whole, { ...fungible, minToken: '1' }];
  const amount = await judge.amountOf({ ...fungible, minToken: '1' }, wallets);
  return [...whole, ...boundaries(fungible, amount, decimals)];
}

async function ownerRules(
  target: Target,
  { accounts, vaults }: Wallets,
  oracle: NodeOracle,
): Promise<TokenRule[]> {
  const people = new Set([...accounts, ...vaults].map(BigInt));
  const own: bigint[] = [];
  const others: bigint[] = [];
  const unknown: bigint[] = [];
  for (const id of [...IDS, ...(EXPENSIVE_IDS[target.name] ?? [])]) {
    const owner = await oracle.ownerOf(target.address, id);
    if (typeof owner !== 'bigint') unknown.push(id);
    else (people.has(owner) ? own : others).push(id);
  }
  const base = baseOf('ERC721', target);
  const few = (ids: readonly bigint[]) => ids.slice(0, IDS_PER_LIST);
  const ofIds = (ids: readonly bigint[], min: number, max?: number): TokenRule[] =>
    ids.length === 0
      ? []
      : [
          {
            ...base,
            tokenId: ids.join(','),
            minToken: String(min),
            ...(max === undefined ? {} : { maxToken: String(max) }),
          },
        ];
  const mixed = [...few(own), ...few(others), ...few(unknown)];
  const owned = few(own).length;
  return [
    ...[...few(own), ...few(others), ...few(unknown)].flatMap((id) => ofIds([id], 1)),
    ...(EXPENSIVE_IDS[target.name] ?? []).flatMap((id) => ofIds([id], 1)),
    ...ofIds(mixed, owned === 0 ? 1 : owned),
    ...ofIds(mixed, owned + 1),
    ...ofIds(mixed, 0, owned),
    ...(owned === 0 ? [] : ofIds(mixed, 0, owned - 1)),
    ...ofIds(few(unknown), 1),
  ];
}

async function sumRules(target: Target, wallets: Wallets, judge: NodeJudge): Promise<TokenRule[]> {
  const base = baseOf('ERC1155', target);
  const summed = { ...base, tokenId: SUMMED_IDS.join(',') };
  const listed = boundaries(summed, await judge.amountOf({ ...summed, minToken: '1' }, wallets), 0);
  return [
    ...listed.filter(({ minToken }) => !minToken.includes('.')),
    { ...base, tokenId: '1', minToken: '1' },
  ];
}

function toText(units: bigint, decimals: number): string {
  const digits = units.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  return decimals === 0 ? whole : `${whole}.${digits.slice(-decimals)}`;
}

const withOneDigitMore = (text: string, decimals: number): string =>
  decimals === 0 ? `${text}.1` : `${text}1`;
