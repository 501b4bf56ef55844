import type { TokenRule } from '#shared/contracts/rule.ts';
import { callJsonRpc } from '../../deploy/local/json-rpc.ts';

/** Source of the selectors: the standards ERC-20, ERC-165, ERC-721 and ERC-1155. */
const SELECTORS = {
  balanceOf: '70a08231',
  balanceOfId: '00fdd58e',
  decimals: '313ce567',
  ownerOf: '6352211e',
  supportsInterface: '01ffc9a7',
} as const;
/** ERC721 as it is, and as the draft was when the first collections were deployed. */
const ERC721_IDS = ['80ac58cd', '9a20483d'] as const;
const DECIMALS_MAX = 255n;
const CALLS_AT_ONCE_MAX = 4;
const TRIES_MAX = 6;
export const NATIVE_DECIMALS = 18;

/** What the node says to one call: a word, a revert, or anything else, which is no answer. */
export type Answer = bigint | 'reverted' | 'none';
export type OracleVerdict = 'granted' | 'denied' | 'open';
/** An amount lies between these; without `most` it has no known upper end. */
type Bounds = { readonly least: bigint; readonly most?: bigint };

export type NodeOracle = {
  readonly block: { readonly number: number; readonly hash: string };
  balanceOf(contract: string, account: string): Promise<Answer>;
  balanceOfId(contract: string, account: string, id: bigint): Promise<Answer>;
  ownerOf(contract: string, id: bigint): Promise<Answer>;
  /** Absent where amounts cannot be scaled. */
  decimals(contract: string): Promise<number | undefined>;
  nativeBalance(account: string): Promise<bigint>;
  judge(rule: TokenRule, account: string): Promise<OracleVerdict>;
};

/**
 * Asks the node itself what a rule must come to at its newest block: plain calls, one by one, by rules of its own
 * that come from the wire contract and share nothing with the evaluator. `open` where the contract does not say: then no
 * verdict is right.
 */
export async function askNode(rpc: string): Promise<NodeOracle> {
  const post = makePatientCaller(rpc);
  const head = (await callJsonRpc(rpc, 'eth_getBlockByNumber', ['latest', false])) as {
    number: string;
    hash: string;
  };
  const known = new Map<string, Promise<Answer>>();
  const codes = new Map<string, Promise<unknown>>();

  async function hasCode(contract: string): Promise<boolean> {
    const code = codes.get(contract) ?? post('eth_getCode', [contract, head.number]);
    codes.set(contract, code);
    return (await code) !== '0x';
  }

  async function ask(contract: string, data: string): Promise<Answer> {
    if (!(await hasCode(contract))) return 'none';
    try {
      const answer = await post('eth_call', [{ to: contract, data: `0x${data}` }, head.number]);
      return typeof answer === 'string' && answer.length === 66 ? BigInt(answer) : 'none';
    } catch (error) {
      if (!isNodesWord(error)) throw error;
      return /revert/i.test(String(error)) ? 'reverted' : 'none';
    }
  }

  /** Each call once. */
  function call(contract: string, data: string): Promise<Answer> {
    const key = `${contract}/${data}`;
    const answer = known.get(key) ?? ask(contract, data);
    known.set(key, answer);
    return answer;
  }

  const oracle: NodeOracle = {
    block: { number: Number(head.number), hash: head.hash },
    balanceOf: (contract, account) => call(contract, SELECTORS.balanceOf + word(account)),
    balanceOfId: (contract, account, id) => call(contract, SELECTORS.balanceOfId + word(account) + word(id)),
    ownerOf: (contract, id) => call(contract, SELECTORS.ownerOf + word(id)),
    async decimals(contract) {
      const answer = await call(contract, SELECTORS.decimals);
      return typeof answer === 'bigint' && answer <= DECIMALS_MAX ? Number(answer) : undefined;
    },
    nativeBalance: async (account) => BigInt(String(await post('eth_getBalance', [account, head.number]))),
    async judge(rule, account) {
      const decimals = await decimalsOf(rule, oracle);
      if (decimals === undefined) return 'open';
      const min = scale(rule.minToken, decimals, 'up');
      const max = rule.maxToken === undefined ? undefined : scale(rule.maxToken, decimals, 'down');
      return compare(await boundsOf(rule, account), min, max);
    },
  };

  async function boundsOf(rule: TokenRule, account: string): Promise<Bounds> {
    const { type, contractAddress: contract = '', tokenId } = rule;
    if (type === 'NATIVE') return exactly(await oracle.nativeBalance(account));
    if (tokenId === undefined) {
      const balance = await oracle.balanceOf(contract, account);
      return typeof balance === 'bigint' ? exactly(balance) : { least: 0n };
    }
    const ids = idsOf(tokenId);
    return type === 'ERC1155' ? sumOf(contract, account, ids) : countOf(contract, account, ids);
  }

  async function sumOf(contract: string, account: string, ids: readonly bigint[]): Promise<Bounds> {
    const balances = await Promise.all(ids.map((id) => oracle.balanceOfId(contract, account, id)));
    const least = balances.reduce<bigint>((sum, balance) => sum + (isWord(balance) ? balance : 0n), 0n);
    return balances.every(isWord) ? exactly(least) : { least };
  }

  /** An id that reverts belongs to nobody, provided that the contract is an ERC721. */
  async function countOf(contract: string, account: string, ids: readonly bigint[]): Promise<Bounds> {
    const owners = await Promise.all(ids.map((id) => oracle.ownerOf(contract, id)));
    const marks = await Promise.all(
      ERC721_IDS.map((id) => call(contract, SELECTORS.supportsInterface + id.padEnd(64, '0'))),
    );
    const isErc721 = owners.some(isWord) || marks.includes(1n);
    const least = BigInt(owners.filter((owner) => owner === BigInt(account)).length);
    const open = owners.filter((owner) => owner === 'none' || (owner === 'reverted' && !isErc721));
    return { least, most: least + BigInt(open.length) };
  }

  return oracle;
}

/**
 * Calls a few at a time, and again where the node gave no answer in time: some clients take seconds for one call of
 * 50 million gas, and what the node did not say must not pass for its word.
 */
function makePatientCaller(rpc: string) {
  const lanes: Promise<unknown>[] = Array.from({ length: CALLS_AT_ONCE_MAX }, () => Promise.resolve());
  let next = 0;
  return function post(method: string, params: readonly unknown[]): Promise<unknown> {
    const lane = next++ % CALLS_AT_ONCE_MAX;
    const answer = (lanes[lane] as Promise<unknown>).then(() => tryToCall(rpc, method, params));
    lanes[lane] = answer.catch(() => undefined);
    return answer;
  };
}

async function tryToCall(rpc: string, method: string, params: readonly unknown[]): Promise<unknown> {
  for (let tries = 1; ; tries++)
    try {
      return await callJsonRpc(rpc, method, params);
    } catch (error) {
      if (isNodesWord(error) || tries === TRIES_MAX) throw error;
    }
}

/** Whether the node answered by an error of JSON-RPC, and not at all otherwise. */
const isNodesWord = (error: unknown): boolean =>
  error instanceof Error && /^eth_[A-Za-z]+: /.test(error.message);

const isWord = (answer: Answer): answer is bigint => typeof answer === 'bigint';
const exactly = (amount: bigint): Bounds => ({ least: amount, most: amount });
const word = (value: string | bigint): string => BigInt(value).toString(16).padStart(64, '0');

/** The one verdict that every amount within the bounds gives. */
function compare({ least, most }: Bounds, min: bigint, max: bigint | undefined): OracleVerdict {
  if (least >= min && (max === undefined || (most !== undefined && most <= max))) return 'granted';
  if ((most !== undefined && most < min) || (max !== undefined && least > max)) return 'denied';
  return least === most ? 'denied' : 'open';
}

async function decimalsOf(
  { type, contractAddress = '' }: TokenRule,
  oracle: NodeOracle,
): Promise<number | undefined> {
  if (type === 'NATIVE') return NATIVE_DECIMALS;
  return type === 'ERC20' ? oracle.decimals(contractAddress) : 0;
}

function idsOf(text: string): bigint[] {
  return [...new Set(text.split(',').map(BigInt))];
}

/** Whole tokens as text in the smallest unit. */
function scale(text: string, decimals: number, round: 'up' | 'down'): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  const exact = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
  return exact + (round === 'up' && /[1-9]/.test(fraction.slice(decimals)) ? 1n : 0n);
}
