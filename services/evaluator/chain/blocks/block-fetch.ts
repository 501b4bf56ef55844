import { LRUCache } from 'lru-cache';
import { askEndpoints, type Question } from '../endpoints/ask-endpoints.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import type { Block } from './block.ts';

/** Fetches that are shared; the least recently used is forgotten first. */
const FETCHES_MAX = 100;

/** A block on its way, which several checks may wait for. */
type BlockFetch<B extends Block> = {
  readonly startedMs: number;
  readonly block: Promise<B>;
  arrived: B | undefined;
  /** Why its last attempt failed, for checks that must end before there is an answer. */
  lastFailure: RpcFailure | undefined;
};

/** Blocks that are fetched once for all checks that ask for them around the same time. */
export class BlockFetches<B extends Block = Block> {
  readonly #fetches = new LRUCache<string, BlockFetch<B>>({ max: FETCHES_MAX });
  readonly #monotonicMs: () => number;

  constructor(monotonicMs = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /**
   * Returns the last fetch if it began at most so long ago, else starts one. The checks that wait
   * now share a failure; it is not kept.
   */
  get(
    key: string,
    ageMsMax: number,
    fetch: (onFailure: (failure: RpcFailure) => void) => Promise<B>,
  ): BlockFetch<B> {
    const known = this.#fetches.get(key);
    const startedMs = this.#monotonicMs();
    if (known !== undefined && startedMs - known.startedMs <= ageMsMax) return known;
    const block = fetch((failure) => {
      fetched.lastFailure = failure;
    });
    const fetched: BlockFetch<B> = {
      ...{ startedMs, block },
      ...{ arrived: undefined, lastFailure: undefined },
    };
    this.#fetches.set(key, fetched);
    block.then(
      (arrived) => {
        fetched.arrived = arrived;
      },
      () => {
        if (this.#fetches.get(key) === fetched) this.#fetches.delete(key);
      },
    );
    return fetched;
  }
}

/** Stops waiting when the check must end; the fetch continues for other checks.
 * @throws RpcFailure */
export async function awaitFetch<B extends Block>(fetched: BlockFetch<B>, signal: AbortSignal): Promise<B> {
  if (signal.aborted) throw new RpcFailure('abandoned');
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(fetched.lastFailure ?? new RpcFailure('abandoned'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([fetched.block, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Equal exactly for equal headers: an endpoint may give the hash of a block with an invented time. */
export const nameOfHeader = ({ number, hash, parentHash, timestamp }: Block): string =>
  `${number} ${hash} ${parentHash} ${timestamp}`;

/**
 * Asks endpoints for blocks until as many as the quorum have answered with the same headers.
 *
 * @throws RpcFailure `block-mismatch` if they disagree
 */
export async function fetchAgreed(question: Question<readonly Block[]>): Promise<readonly Block[]> {
  const { quorum } = question;
  const nameOf = (blocks: readonly Block[]) => blocks.map(nameOfHeader).join();
  const agreed = (answers: readonly (readonly Block[])[]) =>
    answers.find((one) => answers.filter((other) => nameOf(other) === nameOf(one)).length >= quorum);
  const { answers, failure } = await askEndpoints({
    ...question,
    isSettled: (known: readonly (readonly Block[])[]) => agreed(known) !== undefined,
  });
  const blocks = agreed(answers);
  if (blocks !== undefined) return blocks;
  if (answers.length >= quorum) throw new RpcFailure('block-mismatch');
  throw failure ?? new RpcFailure('unreachable');
}
