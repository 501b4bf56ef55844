import type { TokenRule } from '#shared/contracts/rule.ts';
import type { Deployment, Target } from './deploy-tokens.ts';
import { NATIVE_DECIMALS, type NodeOracle } from './node-oracle.ts';
import { CHAIN_ID } from './start-clients.ts';

/** Decimals of an amount that a rule can name. */
const FRACTION_DIGITS_MAX = 36;
/** Ids that the tokens have, lack and could not have. */
const IDS = [...Array.from({ length: 14 }, (_, id) => BigInt(id)), 2n ** 256n - 1n];
/** Of a batch of 4 000: some 1.1, 2.6, 5.7 and 8.8 million gas each. */
const EXPENSIVE_IDS: Readonly<Record<string, readonly bigint[]>> = {
  Erc721aExpensive: [499n, 1_200n, 2_600n, 3_999n, 4_001n, 4_007n, 4_008n],
};
const SUMMED_IDS = [1n, 2n, 3n, 7n, 2n ** 256n - 1n];
/** Of each kind, in one list. */
const IDS_PER_LIST = 3;

/** The rules of one check. */
export type Case = {
  readonly target: string;
  readonly account: string;
  readonly rules: readonly TokenRule[];
};

/** Rules of every type for every contract and account, each at its boundary by what the node holds. */
export async function makeCases({ accounts, targets }: Deployment, oracle: NodeOracle): Promise<Case[]> {
  const cases: Case[] = [];
  for (const { address: account } of accounts) {
    const native: Base = { type: 'NATIVE', chainId: CHAIN_ID, roleId: '' };
    const rules = boundaries(native, await oracle.nativeBalance(account), NATIVE_DECIMALS);
    const ofTarget = async (target: Target): Promise<Case> => ({
      target: target.name,
      account,
      rules: [
        ...(await amountRules(target, account, oracle)),
        ...(await ownerRules(target, account, oracle)),
        ...(await sumRules(target, account, oracle)),
      ],
    });
    cases.push({ target: 'native coin', account, rules }, ...(await Promise.all(targets.map(ofTarget))));
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
    // More digits than the token has: rounded up, so one unit more.
    ...(decimals < FRACTION_DIGITS_MAX
      ? [{ ...base, minToken: withOneDigitMore(text(amount), decimals) }]
      : []),
    ...(amount === 0n ? [] : [{ ...base, minToken: '0', maxToken: text(amount - 1n) }]),
  ];
}

async function amountRules(target: Target, account: string, oracle: NodeOracle): Promise<TokenRule[]> {
  const balance = await oracle.balanceOf(target.address, account);
  const decimals = await oracle.decimals(target.address);
  const amount = typeof balance === 'bigint' ? balance : 0n;
  const count = baseOf('ERC721', target);
  const whole = boundaries(count, amount, 0).filter(({ minToken }) => !minToken.includes('.'));
  const fungible = baseOf('ERC20', target);
  if (decimals === undefined || decimals > FRACTION_DIGITS_MAX)
    return [...whole, { ...fungible, minToken: '1' }];
  return [...whole, ...boundaries(fungible, amount, decimals)];
}

async function ownerRules(target: Target, account: string, oracle: NodeOracle): Promise<TokenRule[]> {
  const own: bigint[] = [];
  const others: bigint[] = [];
  const unknown: bigint[] = [];
  for (const id of [...IDS, ...(EXPENSIVE_IDS[target.name] ?? [])]) {
    const owner = await oracle.ownerOf(target.address, id);
    if (typeof owner !== 'bigint') unknown.push(id);
    else (owner === BigInt(account) ? own : others).push(id);
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

async function sumRules(target: Target, account: string, oracle: NodeOracle): Promise<TokenRule[]> {
  let sum = 0n;
  for (const id of SUMMED_IDS) {
    const balance = await oracle.balanceOfId(target.address, account, id);
    if (typeof balance === 'bigint') sum += balance;
  }
  const base = baseOf('ERC1155', target);
  const listed = boundaries({ ...base, tokenId: SUMMED_IDS.join(',') }, sum, 0);
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
