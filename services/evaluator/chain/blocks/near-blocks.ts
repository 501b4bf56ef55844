import { NOT_YET_MS } from '../endpoints/call-lag.ts';
import type { EndpointPool } from '../endpoints/endpoint-pool.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import { type Block, fetchOwnBlocks } from './block.ts';
import { awaitFetch, BlockFetches, fetchAgreed } from './block-fetch.ts';
import type { HeadsOptions } from './heads.ts';

/** Nodes keep the states of about 128 blocks; the head may advance by some while they are read. */
const DEPTH_MAX = 119;
/** Guesses by the time between blocks before the range is halved. */
const GUESSES_MAX = 3;

type Options = Pick<HeadsOptions, 'quorum' | 'blockTime' | 'closed'> & {
  readonly pool: HeadsOptions['pool'] & Pick<EndpointPool, 'ageMs'>;
};

type FetchAll = (numbers: readonly number[]) => Promise<readonly Block[]>;

/** A place a little below a head, for a check. */
type NearRequest = {
  readonly head: Block;
  /** Blocks that the check could not read: remembered ones may have been replaced by a reorg. */
  readonly gone: readonly Block[];
  readonly signal: AbortSignal;
};

/**
 * The blocks of one chain that lie less than 120 below its head, found by their time. All headers
 * that were fetched are remembered as long as they are so near, so that a look-up costs about one
 * call, and none while the time that is looked for stays the same.
 */
export class NearBlocks {
  readonly #options: Options;
  readonly #known = new Map<number, Block>();
  readonly #fetches = new BlockFetches();

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * The last block with a timestamp of at most so many seconds; if no block that may be read has
   * one, the lowest of them.
   *
   * @throws RpcFailure
   */
  findUntil(seconds: number, request: NearRequest): Promise<Block> {
    const { head } = request;
    return head.timestamp <= seconds
      ? Promise.resolve(head)
      : this.#fetch(`until ${seconds}`, request, (fetchAll) => this.#findUntil(seconds, head, fetchAll));
  }

  /** The block of a number, which lies above one that was found. @throws RpcFailure */
  find(number: number, request: NearRequest): Promise<Block> {
    const { head } = request;
    return number === head.number
      ? Promise.resolve(head)
      : this.#fetch(`at ${number}`, request, async (fetchAll) => {
          const [block] = await fetchAll([number]);
          if (block === undefined) throw new RpcFailure('malformed');
          return block;
        });
  }

  /** Each look-up below a head is made once for all checks. */
  #fetch(
    what: string,
    { head, gone, signal }: NearRequest,
    find: (fetchAll: FetchAll) => Promise<Block>,
  ): Promise<Block> {
    if (gone.length > 0) this.#known.clear();
    const key = `${what} ${head.hash} ${gone.length}`;
    const fetched = this.#fetches.get(key, Number.POSITIVE_INFINITY, (onFailure) =>
      find((numbers) => this.#fetchAll(numbers, head, onFailure)),
    );
    return awaitFetch(fetched, signal);
  }

  async #findUntil(seconds: number, head: Block, fetchAll: FetchAll): Promise<Block> {
    const floor = Math.max(0, head.number - DEPTH_MAX);
    this.#remember([head], floor);
    const found = await this.#narrow(seconds, head, fetchAll);
    if (found !== undefined) return found;
    // A remembered block was replaced by a reorg.
    this.#known.clear();
    const again = await this.#narrow(seconds, head, fetchAll);
    if (again === undefined) throw new RpcFailure('block-mismatch');
    return again;
  }

  /** Nothing if two neighbours are no parent and child. */
  async #narrow(seconds: number, head: Block, fetchAll: FetchAll): Promise<Block | undefined> {
    const floor = Math.max(0, head.number - DEPTH_MAX);
    let [below, above] = this.#nearest(seconds, head, floor);
    for (let guesses = 0; above.number > (below?.number ?? floor - 1) + 1; guesses++) {
      const low = (below?.number ?? floor - 1) + 1;
      const [from, to] = below === undefined ? [above, head] : [below, above];
      const secondsPerBlock =
        from.number < to.number
          ? (to.timestamp - from.timestamp) / (to.number - from.number)
          : this.#options.blockTime.ms / 1_000;
      const distance =
        guesses < GUESSES_MAX
          ? Math.ceil((above.timestamp - seconds) / secondsPerBlock)
          : Math.ceil((above.number - low) / 2);
      const guess = Math.max(low, above.number - Math.max(1, distance));
      // With the next one, which shows that the guess is the last.
      const numbers = guess + 1 < above.number ? [guess, guess + 1] : [guess];
      const fetched = await fetchAll(numbers);
      this.#remember(fetched, floor);
      for (const block of fetched) {
        if (block.timestamp <= seconds) below = block;
        else if (block.number < above.number) above = block;
      }
    }
    if (below === undefined) return above;
    return above.parentHash === below.hash ? below : undefined;
  }

  /** The nearest of the remembered blocks on both sides of a time. */
  #nearest(seconds: number, head: Block, floor: number): [below: Block | undefined, above: Block] {
    const inRange = [...this.#known.values()].filter(({ number }) => number >= floor && number < head.number);
    const later = inRange.filter(({ timestamp }) => timestamp > seconds);
    const above = later.reduce((first, block) => (block.number < first.number ? block : first), head);
    const until = inRange.filter(({ number, timestamp }) => timestamp <= seconds && number < above.number);
    const below = until.reduce<Block | undefined>(
      (last, block) => (last === undefined || block.number > last.number ? block : last),
      undefined,
    );
    return [below, above];
  }

  #remember(blocks: readonly Block[], floor: number): void {
    for (const block of blocks) this.#known.set(block.number, block);
    // As many as lie between the floor and the head.
    for (const number of this.#known.keys()) if (number < floor) this.#known.delete(number);
  }

  #fetchAll(
    numbers: readonly number[],
    head: Block,
    onFailure: (failure: RpcFailure) => void,
  ): Promise<readonly Block[]> {
    const { pool, quorum } = this.#options;
    return fetchAgreed({
      pool,
      candidates: () => pool.candidates(head),
      quorum,
      ask: (endpoint, signal) => fetchOwnBlocks(endpoint, numbers, signal),
      patienceMs: async () => NOT_YET_MS - pool.ageMs(head),
      onFailure,
      signal: this.#options.closed,
    });
  }
}
