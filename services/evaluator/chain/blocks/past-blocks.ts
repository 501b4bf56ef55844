import { LRUCache } from 'lru-cache';
import { askEndpoints } from '../endpoints/ask-endpoints.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import { type Block, findBlock } from './block.ts';
import { awaitFetch, type BlockFetch } from './block-fetch.ts';
import type { HeadsOptions } from './heads.ts';

/** A block may have been fetched this long before a check asked for it: near the head it may still be replaced. */
const AGE_MS_MAX = 500;
/** Numbers whose blocks are shared by checks; the least recently used is evicted first. */
const BLOCKS_MAX = 100;
/** A node that lacks one of this many newest blocks is behind, and will get it; an older block is not kept. */
const BLOCKS_BEHIND_MAX = 128;

/** A block that a check could not read at. */
export type GoneBlock = Block & {
  /** Whether the endpoints lack the block or its state; if not, another block answered. */
  readonly isMissing: boolean;
};

type PastBlockRequest = {
  readonly number: number;
  readonly gone: readonly GoneBlock[];
  readonly signal: AbortSignal;
};

type Options = Pick<HeadsOptions, 'pool' | 'quorum' | 'monotonicMs'> & {
  /** The number of the newest block, as far as it is known. @throws RpcFailure */
  readonly headNumber: (signal: AbortSignal) => Promise<number>;
};

/** The blocks of one chain that checks name by their number. How old the chain's head is does not matter to them. */
export class PastBlocks {
  readonly #options: Options;
  readonly #fetched = new LRUCache<number, BlockFetch>({ max: BLOCKS_MAX, ttl: AGE_MS_MAX });
  readonly #controller = new AbortController();

  constructor(options: Options) {
    this.#options = options;
  }

  close(): void {
    this.#controller.abort();
  }

  /** @throws RpcFailure */
  async read({ number, gone, signal }: PastBlockRequest): Promise<Block> {
    const known = gone.length > 0 ? undefined : this.#fetched.get(number);
    const fetched = known ?? this.#fetch(number);
    const block = await awaitFetch(fetched, signal);
    // The chain still has this very block, so its header is there and its state is not.
    if (gone.some(({ hash, isMissing }) => isMissing && hash === block.hash))
      throw new RpcFailure('state-unavailable');
    return block;
  }

  #fetch(number: number): BlockFetch {
    const block = this.#ask(number, (failure) => {
      fetched.lastFailure = failure;
    });
    const fetched: BlockFetch = { block, lastFailure: undefined };
    this.#fetched.set(number, fetched);
    // The checks that wait now share a failure; it is not cached.
    block.catch(() => this.#fetched.delete(number));
    return fetched;
  }

  async #ask(number: number, onFailure: (failure: RpcFailure) => void): Promise<Block> {
    const { pool, quorum } = this.#options;
    const { signal } = this.#controller;
    const agreed = (answers: readonly (Block | undefined)[]) =>
      answers.find(
        (block) => block && answers.filter((other) => other?.hash === block.hash).length >= quorum,
      );
    const { answers, failure } = await askEndpoints({
      candidates: () => pool.candidates(),
      quorum,
      isSettled: (blocks: readonly (Block | undefined)[]) => agreed(blocks) !== undefined,
      ask: async (endpoint) => {
        await pool.capabilitiesOf(endpoint);
        return findBlock(endpoint, number, signal);
      },
      hedgeAfterMs: (endpoint) => pool.hedgeAfterMs(endpoint),
      readyInMs: (answered) => pool.readyInMs(answered),
      whyNoCandidate: () => pool.whyNoCandidate(),
      onHedge: () => pool.spendHedge(),
      onFailure,
      signal,
    });
    const block = agreed(answers);
    if (block !== undefined) return block;
    if (answers.some((answer) => answer !== undefined)) throw new RpcFailure('block-mismatch');
    if (answers.length === 0) throw failure ?? new RpcFailure('unreachable');
    throw await this.#whyUnknown(number, signal);
  }

  /** Why no endpoint knows a block. */
  async #whyUnknown(number: number, signal: AbortSignal): Promise<RpcFailure> {
    const head = await this.#options.headNumber(signal).catch(() => undefined);
    if (head !== undefined && number > head) return new RpcFailure('block-past-head');
    const isOld = head !== undefined && head - number >= BLOCKS_BEHIND_MAX;
    return new RpcFailure(isOld ? 'state-unavailable' : 'block-unavailable');
  }
}
