import { pause, within } from '#shared/wait-for.ts';
import type { Block } from './block.ts';

/** A head so much older than the newest one is not read at the same instant. */
const OLDER_SECONDS_MAX = 60;
/** How long chains that have a head wait for those that have none, and for the look-ups of the
 * others. */
const WAIT_MS_MAX = 2_000;

/** Looks up a chain's last block with a timestamp of at most so many seconds; if the chain has none
 * that may be read, its first one after it. */
type FindUntil = (seconds: number) => Promise<Block>;

/**
 * The block of a chain to read at the common instant, from the chain's head; `undefined` if the
 * head does not fit the instant: then amounts of this chain cannot be added to those of others.
 *
 * @throws RpcFailure if the look-up fails
 */
export type BlockAtInstant = (head: Block, find: FindUntil) => Promise<Block | undefined>;

/**
 * The instant at which a check reads several chains: the smallest timestamp of their heads, raised
 * as far as needed so that each chain can be read at its last block until then.
 *
 *   open ──(each chain has a head, or none; or 2 s after the first head)──► decided
 *
 * A head that is more than 60 s older than the newest one does not count. One that arrives after the
 * decision must not be older than the instant.
 */
export class CommonInstant {
  readonly #awaited: Set<number>;
  readonly #heads = new Map<number, { readonly head: Block; readonly find: FindUntil }>();
  readonly #closed = new AbortController();
  #decision: Promise<{ readonly atSeconds: number; readonly newestSeconds: number }> | undefined;

  /** @param signal aborted when the check must end */
  constructor(chainIds: Iterable<number>, signal: AbortSignal) {
    this.#awaited = new Set(chainIds);
    signal.addEventListener('abort', () => this.#closed.abort(), { once: true });
    if (signal.aborted) this.#closed.abort();
  }

  /** See `BlockAtInstant`. */
  async blockOf(chainId: number, head: Block, find: FindUntil): Promise<Block | undefined> {
    const isLate = this.#closed.signal.aborted;
    if (!isLate) this.#heads.set(chainId, { head, find });
    this.#decision ??= this.#decide();
    this.leave(chainId);
    const { atSeconds, newestSeconds } = await this.#decision;
    const oldest = isLate ? atSeconds : newestSeconds - OLDER_SECONDS_MAX;
    if (head.timestamp < oldest) return undefined;
    const block = await find(atSeconds);
    return block.timestamp <= atSeconds ? block : undefined;
  }

  /** The chain is not waited for: it has a head, or its reads have ended. */
  leave(chainId: number): void {
    this.#awaited.delete(chainId);
    if (this.#awaited.size === 0) this.#closed.abort();
  }

  async #decide() {
    await pause(WAIT_MS_MAX, this.#closed.signal);
    this.#closed.abort();
    const heads = [...this.#heads.values()];
    const newestSeconds = Math.max(...heads.map(({ head }) => head.timestamp));
    const counted = heads.filter(({ head }) => newestSeconds - head.timestamp <= OLDER_SECONDS_MAX);
    const earliest = Math.min(...counted.map(({ head }) => head.timestamp));
    let atSeconds = earliest;
    const lookUps = counted.map(async ({ find }) => {
      const { timestamp } = await find(earliest);
      if (timestamp > atSeconds) atSeconds = timestamp;
    });
    await within(WAIT_MS_MAX, Promise.allSettled(lookUps));
    return { atSeconds, newestSeconds };
  }
}
