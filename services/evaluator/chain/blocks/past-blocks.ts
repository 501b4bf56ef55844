import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import { pause } from '#shared/wait-for.ts';
import { RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { type Block, findBlock } from './block.ts';
import { awaitFetch, BlockFetches, fetchAgreed } from './block-fetch.ts';
import { AHEAD_MS_MAX, type HeadsOptions } from './heads.ts';

/** A block may have been fetched this long before a check asked for it: near the head it may still
 * be replaced. */
const AGE_MS_MAX = 500;
/** Look-ups at a time, and those that wait in turns of accounts; of more, the account with the most
 * loses its newest. */
const LOOK_UPS_MAX = 4;
const WAITING_LOOK_UPS_MAX = 256;
/** Nodes keep the states of this many newest blocks; a node without the state of an older block is
 * not an archive. */
const STATES_MIN = 128;
/** Pause before a block near the head is looked up again: doubles up to the maximum, and after the
 * first one lasts until the block is due where that is later. */
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 2_000;

/** A block that a check could not read at. */
export type GoneBlock = Block & {
  /** Whether the endpoints lack the block or its state; if not, another block answered. */
  readonly isMissing: boolean;
};

type PastBlockRequest = {
  readonly number: number;
  readonly gone: readonly GoneBlock[];
  readonly accountId: string;
  readonly clientId: string;
  readonly onWait: () => void;
  readonly signal: AbortSignal;
};

type Options = Pick<HeadsOptions, 'pool' | 'quorum' | 'blockTime' | 'waiting' | 'closed'> & {
  /** The number of the newest block, as far as it is known. @throws RpcFailure */
  readonly headNumber: (signal: AbortSignal) => Promise<number>;
};

/**
 * The blocks of one chain that checks name by their number. How old the chain's head is does not
 * matter to them.
 *
 * A block near the head, or its state, may be missing because the endpoints are behind: then the
 * check waits for it until its deadline, as it does for a `minBlock`. Only a block that is 128 or
 * more below the head is missing for good.
 *
 * Accounts take turns in looking up blocks, and each looks up its own: who names many delays nobody
 * else.
 */
export class PastBlocks {
  readonly #options: Options;
  readonly #fetches = new BlockFetches();
  readonly #lookUps = new FairTaskQueue({
    atOnceMax: LOOK_UPS_MAX,
    waitingMax: WAITING_LOOK_UPS_MAX,
    refusal: 'too many blocks are to be looked up',
  });

  constructor(options: Options) {
    this.#options = options;
  }

  /** @throws RpcFailure */
  async read({ number, gone, accountId, clientId, onWait, signal }: PastBlockRequest): Promise<Block> {
    // What is near stays so until the deadline, so the head is asked for once.
    let isNear = gone.at(-1)?.isMissing ?? false;
    if (isNear) await this.#requireNear(number, new RpcFailure('block-unavailable'), signal);
    const owner = { accountId, clientId };
    if (gone.length === 0) {
      const block = await this.#find(number, owner, isNear, signal);
      if (block !== undefined) return block;
      isNear = true;
    }
    const { waiting } = this.#options;
    if (!waiting.take(owner)) throw new RpcFailure('block-unavailable');
    onWait();
    try {
      let dueInMs = await this.#dueInMs(number, signal);
      let waitMs = RETRY_MS_MIN * 2 ** gone.length;
      for (; !signal.aborted; waitMs = Math.max(2 * waitMs, dueInMs)) {
        const pauseMs = Math.min(waitMs, RETRY_MS_MAX);
        await pause(pauseMs, signal);
        dueInMs -= pauseMs;
        const block = signal.aborted ? undefined : await this.#find(number, owner, isNear, signal);
        if (block !== undefined) return block;
        isNear = true;
      }
      throw new RpcFailure('block-unavailable');
    } finally {
      waiting.give(owner);
    }
  }

  /** The block; `undefined` if the endpoints may still get it. @throws RpcFailure */
  async #find(
    number: number,
    owner: AppOwner,
    isNear: boolean,
    signal: AbortSignal,
  ): Promise<Block | undefined> {
    const fetched = this.#fetches.get(`${owner.accountId} ${number}`, AGE_MS_MAX, (onFailure) =>
      this.#lookUps
        .run(owner, () => this.#ask(number, onFailure))
        .catch((error: unknown) => {
          throw error instanceof RpcFailure ? error : new RpcFailure('over-rate');
        }),
    );
    try {
      return await awaitFetch(fetched, signal);
    } catch (error) {
      const failure = toRpcFailure(error);
      // With a quorum, an endpoint that is behind may be the one that is missing.
      if (failure.kind !== 'block-unavailable' && failure.kind !== 'block-mismatch') throw failure;
      if (!isNear) await this.#requireNear(number, failure, signal);
      return undefined;
    }
  }

  /** @throws RpcFailure if waiting for this block is in vain */
  async #requireNear(number: number, failure: RpcFailure, signal: AbortSignal): Promise<void> {
    const head = await this.#options.headNumber(signal).catch(() => undefined);
    if (head === undefined) throw failure;
    if (number - head > this.#options.blockTime.blocksIn(AHEAD_MS_MAX))
      throw new RpcFailure('block-past-head');
    if (head - number < STATES_MIN) return;
    throw failure.kind === 'block-mismatch' ? failure : new RpcFailure('state-unavailable');
  }

  /** After how many ms the endpoint with the head may have the block. */
  async #dueInMs(number: number, signal: AbortSignal): Promise<number> {
    const head = await this.#options.headNumber(signal).catch(() => number);
    return (number - head) * this.#options.blockTime.ms;
  }

  async #ask(number: number, onFailure: (failure: RpcFailure) => void): Promise<Block> {
    const { pool, quorum, closed: signal } = this.#options;
    const [block] = await fetchAgreed({
      pool,
      candidates: () => pool.candidates(),
      quorum,
      ask: async (endpoint) => [await findBlock(endpoint, number, signal)],
      onFailure,
      signal,
    });
    if (block === undefined) throw new RpcFailure('unreachable');
    return block;
  }
}
