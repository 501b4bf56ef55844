import type { NodeLag, Profile, Refusal } from '../profile.ts';
import type { MinedBlock, MinedChain } from './mined-chain.ts';

export type Call = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] };
export type Answer =
  | { readonly result: unknown }
  | { readonly refusal: Refusal }
  /** A long one, as it came: `"result":…` or `"error":…`. */
  | { readonly text: string };

/** Asks the chain itself. Its own errors, such as a revert, are answers of the node. */
export type AskChain = (method: string, params: readonly unknown[]) => Promise<Answer>;

type Node = {
  readonly profile: Profile;
  readonly chainId: number;
  readonly chain: Pick<MinedChain, 'newest' | 'newestAt' | 'byHash' | 'byNumber'>;
  readonly lag: NodeLag;
  readonly runsNewestState: boolean;
  readonly ask: AskChain;
};

/** Blocks between the head and `safe`, and `finalized`. */
const BLOCKS_TO = { safe: 32, finalized: 64 } as const;
/** Where the methods that read a state name the block. */
const BLOCK_PLACES: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getTransactionCount: 1,
  eth_getStorageAt: 2,
};

const hex = (number: number): string => `0x${number.toString(16)}`;
const isTag = (block: unknown): block is keyof typeof BLOCKS_TO => block === 'safe' || block === 'finalized';

/** What one node of a provider answers to one call. */
export async function answerCall(node: Node, { method, params }: Call): Promise<Answer> {
  const { chain, chainId, lag, ask } = node;
  const place = BLOCK_PLACES[method];
  if (place !== undefined) return answerAtState(node, method, params, place);
  switch (method) {
    case 'eth_chainId':
      return { result: hex(chainId) };
    case 'eth_blockNumber':
      return { result: hex(chain.newestAt(lag.headsMs).number) };
    case 'eth_getBlockByNumber':
      return answerHeader(node, params);
    case 'eth_getBlockByHash': {
      const block = chain.byHash(String(params[0]).toLowerCase());
      const isKnown = block !== undefined && block.number <= chain.newestAt(lag.headsMs).number;
      return isKnown ? ask(method, params) : { result: null };
    }
    case 'eth_getLogs':
      return answerLogs(node, params[0] as LogFilter);
    default:
      return ask(method, params);
  }
}

function answerHeader({ profile, chain, lag, ask }: Node, [block, ...rest]: readonly unknown[]) {
  const { number: head } = chain.newestAt(lag.headsMs);
  if (isTag(block) && profile.lacksTags) return given(profile.words.missingTag);
  const number = isTag(block) ? Math.max(0, head - BLOCKS_TO[block]) : numberOf(block, head);
  const { words, stateBlocks = Number.POSITIVE_INFINITY } = profile;
  if (number > head) return given(words.blockPastHead, { number });
  if (words.prunedBlock && head - number >= stateBlocks) return given(words.prunedBlock, { number });
  return ask('eth_getBlockByNumber', [hex(number), ...rest]);
}

/** A call at a block: the node must have the block, and its state. */
async function answerAtState(
  node: Node,
  method: string,
  params: readonly unknown[],
  place: number,
): Promise<Answer> {
  const { profile, chain, lag, ask } = node;
  const { words, stateBlocks = Number.POSITIVE_INFINITY } = profile;
  const { number: head } = chain.newestAt(lag.callsMs);
  const named = params[place];
  if (isTag(named) && profile.lacksTags) return given(words.missingTag);
  const { blockHash } = (typeof named === 'object' ? named : {}) as { blockHash?: string };
  const hash = blockHash?.toLowerCase();
  const number = hash === undefined ? numberOf(named, head) : chain.byHash(hash)?.number;
  if (number === undefined || number > head)
    return hash === undefined
      ? given(words.unknownNumber, { number: number ?? 0 })
      : given(words.unknownHash, { hash });
  const block = chain.byNumber(number);
  if (block === undefined || head - number >= stateBlocks)
    return given(words.prunedState, { hash: block?.stateRoot.slice(2) ?? '', number });
  const pinned = hash === undefined ? hex(number) : named;
  if (method !== 'eth_call') return ask(method, params.with(place, pinned));
  if (node.runsNewestState) {
    const [call, , overrides = {}] = params;
    const context = { number: hex(number), time: hex(block.timestamp) };
    return ask(method, [call, hex(chain.newest().number), overrides, context]);
  }
  const answer = await ask(method, params.with(place, pinned));
  return profile.blockhash === undefined ? answer : withStateRoot(node, block, answer);
}

/**
 * The answer of a chain whose `BLOCKHASH` is a state root, and which keeps no hashes in its state:
 * the parent's hash stands first where the EVM gave it, and then where the state had it.
 */
function withStateRoot(node: Node, { number }: MinedBlock, answer: Answer): Answer {
  const parent = node.chain.byNumber(number - 1);
  if (!('result' in answer) || typeof answer.result !== 'string' || parent === undefined) return answer;
  const [hash, stateRoot] = [parent.hash.slice(2), parent.stateRoot.slice(2)];
  const first = answer.result.replace(hash, stateRoot);
  return { result: first.replaceAll(hash, '0'.repeat(hash.length)) };
}

type LogFilter = { readonly fromBlock?: string; readonly toBlock?: string; readonly blockHash?: string };

async function answerLogs({ profile, chain, lag, ask }: Node, filter: LogFilter): Promise<Answer> {
  const { words, logBlocks } = profile;
  const { number: head } = chain.newestAt(lag.logsMs);
  if (filter.blockHash !== undefined) {
    const block = chain.byHash(filter.blockHash.toLowerCase());
    if (block !== undefined && block.number <= head)
      return logsOf(profile, await ask('eth_getLogs', [filter]));
    if (words.logsAtUnknownHash !== 'none') return given(words.logsAtUnknownHash, { hash: filter.blockHash });
    return logsOf(profile, { result: [] });
  }
  const [from, to] = [numberOf(filter.fromBlock, head), numberOf(filter.toBlock, head)];
  if (logBlocks !== undefined && to - from >= logBlocks.max) return { refusal: logBlocks.refusal };
  if (to > head && words.logsPastHead !== 'fewer') return given(words.logsPastHead, { number: to });
  if (from > head) return logsOf(profile, { result: [] });
  return logsOf(profile, await ask('eth_getLogs', [{ ...filter, toBlock: hex(Math.min(to, head)) }]));
}

function logsOf({ nullForNoLogs }: Profile, answer: Answer): Answer {
  const isEmpty = 'result' in answer && Array.isArray(answer.result) && answer.result.length === 0;
  return isEmpty && nullForNoLogs ? { result: null } : answer;
}

/** A number, or a tag that means the node's head. */
const numberOf = (block: unknown, head: number): number => {
  if (isTag(block)) return Math.max(0, head - BLOCKS_TO[block]);
  if (block === 'earliest') return 0;
  return typeof block === 'string' && block.startsWith('0x') ? Number(block) : head;
};

function given(words: Refusal | null, named: { number?: number; hash?: string } = {}): Answer {
  if (words === null) return { result: null };
  const message = words.message
    .replaceAll('{number}', String(named.number ?? ''))
    .replaceAll('{hash}', named.hash ?? '');
  return { refusal: { ...words, message } };
}
