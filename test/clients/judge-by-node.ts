import { type Condition, isComposedRule, type TokenCondition } from '#shared/contracts/rules/rule.ts';
import { callOf, judgeOutput } from './contract-calls.ts';
import type { Answer, NodeOracle } from './node-oracle.ts';

/** The functions of delegate.xyz's registry, by the kind of holding. */
const DELEGATIONS = {
  all: 'function checkDelegateForAll(address, address, bytes32) view returns (bool)',
  contract: 'function checkDelegateForContract(address, address, address, bytes32) view returns (bool)',
  id: 'function checkDelegateForERC721(address, address, address, uint256, bytes32) view returns (bool)',
  amount: 'function checkDelegateForERC20(address, address, address, bytes32) view returns (uint256)',
  amountOfId:
    'function checkDelegateForERC1155(address, address, address, uint256, bytes32) view returns (uint256)',
} as const;
const NO_RIGHTS = `0x${'0'.repeat(64)}`;
/** More than every amount. */
const UNLIMITED = 2n ** 256n;
export const NATIVE_DECIMALS = 18;

export type OracleVerdict = 'granted' | 'denied' | 'open';
/** The wallets of one person. */
export type Wallets = { readonly accounts: readonly string[]; readonly vaults: readonly string[] };
/** An amount lies between these; without `most` it has no known upper bound. */
type Bounds = { readonly least: bigint; readonly most?: bigint };

export type NodeJudge = {
  /** The one verdict that the contracts' own answers give; `open` where they leave it undecided. */
  judge(rule: Condition, wallets: Wallets): Promise<OracleVerdict>;
  /** The least that the wallets hold together, in the smallest unit. */
  amountOf(rule: TokenCondition, wallets: Wallets): Promise<bigint>;
};

/** Judges rules by the node's answers, in the simplest way: it shares nothing with the
 * evaluator. */
export function makeNodeJudge(oracle: NodeOracle, registry: string): NodeJudge {
  async function judge(rule: Condition, wallets: Wallets): Promise<OracleVerdict> {
    if (isComposedRule(rule)) {
      const inside = await Promise.all(rule.rules.map((each) => judge(each, wallets)));
      return compose(rule.type, rule.atLeast ?? 0, inside);
    }
    if (rule.type === 'CONTRACT') {
      const own = wallets.accounts.map((account) => judgeOutput(oracle, rule, account));
      const ofVaults = vaultsOf(wallets).map(async (vault) => {
        const delegated = await isDelegated('contract', wallets, vault, [rule.contractAddress]);
        if (!delegated) return undefined;
        return judgeOutput(oracle, rule, vault);
      });
      const verdicts = (await Promise.all([...own, ...ofVaults])).filter((verdict) => verdict !== undefined);
      return compose(rule.wallets === 'all' ? 'ALL' : 'ANY', 0, verdicts);
    }
    if (rule.type === 'SUM') throw new RangeError('sums are not generated');
    const decimals = await decimalsOf(rule, oracle);
    if (decimals === undefined) return 'open';
    const min = scale(rule.minToken, decimals, 'up');
    const max = rule.maxToken === undefined ? undefined : scale(rule.maxToken, decimals, 'down');
    return compare(await boundsOf(rule, wallets), min, max);
  }

  async function boundsOf(rule: TokenCondition, wallets: Wallets): Promise<Bounds> {
    const { type, contractAddress: contract = '', tokenId } = rule;
    if (type === 'NATIVE') {
      const balance = (wallet: string) => oracle.nativeBalance(wallet);
      return sumOf(wallets, balance, async (vault) => limitOf(await isDelegated('all', wallets, vault, [])));
    }
    if (tokenId === undefined) {
      const balance = (wallet: string) => oracle.balanceOf(contract, wallet);
      const limit = async (vault: string) =>
        type === 'ERC20'
          ? mostDelegated('amount', wallets, vault, [contract])
          : limitOf(await isDelegated('contract', wallets, vault, [contract]));
      return sumOf(wallets, balance, limit);
    }
    const ids = [...new Set(tokenId.split(',').map(BigInt))];
    if (type === 'ERC721') return countOf(contract, ids, wallets);
    const sums = ids.map((id) =>
      sumOf(
        wallets,
        (wallet) => oracle.balanceOfId(contract, wallet, id),
        (vault) => mostDelegated('amountOfId', wallets, vault, [contract, String(id)]),
      ),
    );
    return add(await Promise.all(sums));
  }

  async function sumOf(
    wallets: Wallets,
    balance: (wallet: string) => Promise<Answer>,
    limit: (vault: string) => Promise<bigint>,
  ): Promise<Bounds> {
    const own = wallets.accounts.map(async (account) => boundsOfAnswer(await balance(account)));
    const ofVaults = vaultsOf(wallets).map(async (vault): Promise<Bounds> => {
      const [{ least, most }, delegated] = [boundsOfAnswer(await balance(vault)), await limit(vault)];
      const smaller = (amount: bigint) => smallestFirst([amount, delegated])[0] ?? 0n;
      return { least: smaller(least), most: most === undefined ? delegated : smaller(most) };
    });
    return add(await Promise.all([...own, ...ofVaults]));
  }

  /** An id that reverts has no owner, provided that the contract is an ERC721. */
  async function countOf(contract: string, ids: readonly bigint[], wallets: Wallets): Promise<Bounds> {
    const owners = await Promise.all(ids.map((id) => oracle.ownerOf(contract, id)));
    const isErc721 = owners.some(isWord) || (await oracle.isErc721(contract));
    const counts = owners.map(async (owner, index): Promise<Bounds> => {
      if (owner === 'none' || (owner === 'reverted' && !isErc721)) return { least: 0n, most: 1n };
      if (owner === 'reverted') return exactly(0n);
      const owns = (wallet: string) => BigInt(wallet) === owner;
      const vault = vaultsOf(wallets).find(owns);
      const isHeld =
        wallets.accounts.some(owns) ||
        (vault !== undefined && (await isDelegated('id', wallets, vault, [contract, String(ids[index])])));
      return exactly(isHeld ? 1n : 0n);
    });
    return add(await Promise.all(counts));
  }

  /** The most that the vault delegated to one of the accounts. */
  async function mostDelegated(
    kind: keyof typeof DELEGATIONS,
    { accounts }: Wallets,
    vault: string,
    of: readonly string[],
  ): Promise<bigint> {
    const given = accounts.map(async (account) => {
      const call = callOf({ function: DELEGATIONS[kind], args: [account, vault, ...of, NO_RIGHTS] }, account);
      const answer = await oracle.returned(registry, call);
      if (typeof answer !== 'object') throw new Error(`the registry answered ${kind} by ${answer}`);
      return BigInt(answer.data);
    });
    return smallestFirst(await Promise.all(given)).at(-1) ?? 0n;
  }
  const isDelegated = async (...question: Parameters<typeof mostDelegated>): Promise<boolean> =>
    (await mostDelegated(...question)) === 1n;

  return { judge, amountOf: async (rule, wallets) => (await boundsOf(rule, wallets)).least };
}

/** Each vault once, without vaults that are accounts too. */
const vaultsOf = ({ accounts, vaults }: Wallets): string[] =>
  [...new Set(vaults)].filter((vault) => !accounts.includes(vault));

/** The bounds of a composed rule: how many rules inside are granted at least and at most. */
function compose(type: string, atLeast: number, inside: readonly OracleVerdict[]): OracleVerdict {
  const least = inside.filter((verdict) => verdict === 'granted').length;
  const most = inside.filter((verdict) => verdict !== 'denied').length;
  const needed = { ALL: inside.length, ANY: 1, AT_LEAST: atLeast, NONE: 1 }[type] ?? 0;
  const reached = least >= needed ? 'granted' : most < needed ? 'denied' : 'open';
  if (type !== 'NONE' || reached === 'open') return reached;
  return reached === 'granted' ? 'denied' : 'granted';
}

const smallestFirst = (amounts: readonly bigint[]): bigint[] =>
  amounts.toSorted((one, other) => (one < other ? -1 : Number(one > other)));
const isWord = (answer: Answer): answer is bigint => typeof answer === 'bigint';
const exactly = (amount: bigint): Bounds => ({ least: amount, most: amount });
const boundsOfAnswer = (answer: Answer): Bounds => (isWord(answer) ? exactly(answer) : { least: 0n });
const limitOf = (isDelegated: boolean): bigint => (isDelegated ? UNLIMITED : 0n);

function add(parts: readonly Bounds[]): Bounds {
  const least = parts.reduce((sum, part) => sum + part.least, 0n);
  let most: bigint | undefined = 0n;
  for (const part of parts)
    most = most === undefined || part.most === undefined ? undefined : most + part.most;
  return most === undefined ? { least } : { least, most };
}

/** The one verdict that all amounts within the bounds give. */
function compare({ least, most }: Bounds, min: bigint, max: bigint | undefined): OracleVerdict {
  if (least >= min && (max === undefined || (most !== undefined && most <= max))) return 'granted';
  if ((most !== undefined && most < min) || (max !== undefined && least > max)) return 'denied';
  return least === most ? 'denied' : 'open';
}

async function decimalsOf(
  { type, contractAddress = '' }: TokenCondition,
  oracle: NodeOracle,
): Promise<number | undefined> {
  if (type === 'NATIVE') return NATIVE_DECIMALS;
  return type === 'ERC20' ? oracle.decimals(contractAddress) : 0;
}

/** Whole tokens as text in the smallest unit. */
function scale(text: string, decimals: number, round: 'up' | 'down'): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  const exact = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
  return exact + (round === 'up' && /[1-9]/.test(fraction.slice(decimals)) ? 1n : 0n);
}
