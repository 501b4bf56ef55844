import { callJsonRpc } from '../../deploy/local/infrastructure/json-rpc.ts';

/** Source of the selectors: the standards ERC-20, ERC-165, ERC-721 and ERC-1155. */
const SELECTORS = {
  balanceOf: '70a08231',
  balanceOfId: '00fdd58e',
  decimals: '313ce567',
  ownerOf: '6352211e',
  supportsInterface: '01ffc9a7',
} as const;
/** ERC721's interface id, final and as in the draft when the first collections were deployed. */
const ERC721_IDS = ['80ac58cd', '9a20483d'] as const;
const DECIMALS_MAX = 255n;
const CALLS_AT_ONCE_MAX = 4;
const TRIES_MAX = 6;

/** The node's answer to one call: a word, a revert, or anything else, which is not an answer. */
export type Answer = bigint | 'reverted' | 'none';
/** The result of a call: its data, its revert, or neither, which says nothing about the
 * contract. */
export type Returned = { readonly data: string } | 'reverted-with-data' | 'reverted-without-data' | 'none';

export type NodeOracle = {
  readonly block: { readonly number: number; readonly hash: string };
  balanceOf(contract: string, account: string): Promise<Answer>;
  balanceOfId(contract: string, account: string, id: bigint): Promise<Answer>;
  ownerOf(contract: string, id: bigint): Promise<Answer>;
  /** Absent where amounts cannot be scaled. */
  decimals(contract: string): Promise<number | undefined>;
  nativeBalance(account: string): Promise<bigint>;
  /** Whether the contract claims by ERC165 to be an ERC721. */
  isErc721(contract: string): Promise<boolean>;
  /** Any call; its data is hex with `0x`. */
  returned(contract: string, data: string): Promise<Returned>;
};

/**
 * Reads from the node itself at its newest block, or at an earlier one: plain calls, one by one,
 * that share nothing with the evaluator.
 */
export async function askNode(rpc: string, at: number | 'latest' = 'latest'): Promise<NodeOracle> {
  const post = makePatientCaller(rpc);
  const place = at === 'latest' ? at : `0x${at.toString(16)}`;
  const head = (await callJsonRpc(rpc, 'eth_getBlockByNumber', [place, false])) as {
    number: string;
    hash: string;
  };
  const known = new Map<string, Promise<Returned>>();
  const codes = new Map<string, Promise<unknown>>();

  async function hasCode(contract: string): Promise<boolean> {
    const code = codes.get(contract) ?? post('eth_getCode', [contract, head.number]);
    codes.set(contract, code);
    return (await code) !== '0x';
  }

  async function ask(contract: string, data: string): Promise<Returned> {
    if (!(await hasCode(contract))) return 'none';
    try {
      const answer = await post('eth_call', [{ to: contract, data }, head.number]);
      return typeof answer === 'string' ? { data: answer } : 'none';
    } catch (error) {
      if (!isNodesWord(error)) throw error;
      if (!/revert/i.test(error.message)) return 'none';
      return holdsBytes(error.cause) ? 'reverted-with-data' : 'reverted-without-data';
    }
  }

  /** Each call once. */
  function returned(contract: string, data: string): Promise<Returned> {
    const key = `${contract}/${data}`;
    const answer = known.get(key) ?? ask(contract, data);
    known.set(key, answer);
    return answer;
  }

  async function call(contract: string, data: string): Promise<Answer> {
    const answer = await returned(contract, `0x${data}`);
    if (typeof answer === 'object') return answer.data.length === 66 ? BigInt(answer.data) : 'none';
    return answer === 'none' ? answer : 'reverted';
  }

  return {
    block: { number: Number(head.number), hash: head.hash },
    returned,
    balanceOf: (contract, account) => call(contract, SELECTORS.balanceOf + word(account)),
    balanceOfId: (contract, account, id) => call(contract, SELECTORS.balanceOfId + word(account) + word(id)),
    ownerOf: (contract, id) => call(contract, SELECTORS.ownerOf + word(id)),
    async decimals(contract) {
      const answer = await call(contract, SELECTORS.decimals);
      return typeof answer === 'bigint' && answer <= DECIMALS_MAX ? Number(answer) : undefined;
    },
    nativeBalance: async (account) => BigInt(String(await post('eth_getBalance', [account, head.number]))),
    async isErc721(contract) {
      const marks = ERC721_IDS.map((id) => call(contract, SELECTORS.supportsInterface + id.padEnd(64, '0')));
      return (await Promise.all(marks)).includes(1n);
    },
  };
}

/**
 * Makes a few calls at a time, and repeats those that timed out: some clients take seconds for one
 * call of 50 million gas, and a missing answer must not count as an answer.
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

/** Whether the node answered with a JSON-RPC error, as opposed to no answer. */
const isNodesWord = (error: unknown): error is Error =>
  error instanceof Error && /^eth_[A-Za-z]+: /.test(error.message);

/** Whether an error's data is bytes: as text, or where Hardhat puts it. */
function holdsBytes(data: unknown): boolean {
  const text = typeof data === 'object' && data !== null && 'data' in data ? data.data : data;
  return /0x[0-9a-f]{2}/i.test(String(text));
}

const word = (value: string | bigint): string => BigInt(value).toString(16).padStart(64, '0');
