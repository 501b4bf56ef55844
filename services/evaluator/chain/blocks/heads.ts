import type { BlockTag } from '#shared/contracts/rules/rule.ts';
import type { FairShares } from '#shared/fairness/fair-shares.ts';
import { pause, within } from '#shared/wait-for.ts';
import { askEndpoints, type Question } from '../endpoints/ask-endpoints.ts';
import type { BlockTime } from '../endpoints/block-time.ts';
import { NOT_YET_MS } from '../endpoints/call-lag.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { EndpointPool } from '../endpoints/endpoint-pool.ts';
import { RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { type Block, fetchBlock, fetchNewBlock } from './block.ts';
import { awaitFetch, BlockFetches, fetchAgreed, nameOfHeader } from './block-fetch.ts';

/** A head may have been fetched this long before the evaluation began. */
const HEAD_AGE_MS_MAX = 500;
/** A check does not wait for a block that the chain takes longer than this to produce. */
export const AHEAD_MS_MAX = 10_000;
/** Time limit of fetching the head from all endpoints; later answers are ignored. */
const FETCH_ALL_MS_MAX = 1_000;
/** Pause between polls while the head is below the minimum block: half a block time, doubling up to
 * the maximum. */
const POLL_MS_MIN = 100;
const POLL_MS_MAX = 500;
/** How many times heads are asked for until no endpoint of the quorum contradicts another one. */
const ATTEMPTS_MAX = 3;
/** Pause before the next of these, where too few give the same header: a block, at most this. */
const CONTEST_MS_MAX = 1_500;

export type HeadsOptions = {
  readonly pool: Question<Block>['pool'] &
    Pick<EndpointPool, 'ageMs' | 'candidates' | 'distrustHeads' | 'doubtHead' | 'noteHead'>;
  readonly quorum: number;
  readonly blockTime: BlockTime;
  readonly maxHeadAgeMs: number | undefined;
  /** Epoch ms, Redis's clock: block timestamps are compared with it. */
  readonly redisNowMs: () => number;
  readonly monotonicMs?: () => number;
  /** Aborted when the chain is closed: a fetch outlives the checks that wait for it. */
  readonly closed: AbortSignal;
  readonly onHead: (block: Block) => void;
  /** The places of checks that wait for a block. */
  readonly waiting: FairShares;
};

export type HeadRequest = {
  readonly blockTag: BlockTag;
  readonly minBlock: number;
  readonly accountId: string;
  readonly clientId: string;
  /** Whether no check waits for it: then it causes no background calls. */
  readonly isAside?: boolean;
  readonly onWait: () => void;
  readonly signal: AbortSignal;
};

/** A head, and when it was requested: of two heads the later requested one is closer to the
 * truth. */
export type Head = Block & {
  /** Epoch ms, Redis's clock. */
  readonly askedAtMs: number;
  /** The endpoint whose head it is. */
  readonly from: Endpoint;
};

type Breadth = {
  /** Whether all endpoints are asked, not only as many as the quorum requires. */
  readonly isWide?: boolean;
  readonly isAside?: boolean | undefined;
};
type Fetched = ReturnType<BlockFetches<Head>['get']>;

/** The heads of one chain, shared by all checks: one fetch serves every check that began around
 * it. */
export class Heads {
  readonly #options: HeadsOptions;
  readonly #fetches: BlockFetches<Head>;

  constructor(options: HeadsOptions) {
    this.#options = options;
    this.#fetches = new BlockFetches(options.monotonicMs);
  }

  /**
   * Returns the block at which a check that begins now reads: a head fetched at most 500 ms ago, or
   * later, and not below `minBlock`.
   *
   * @param gone heads that the check could not read at: they are not accepted, and the endpoint that
   *   named the last one is doubted
   * @throws RpcFailure
   */
  async read(request: HeadRequest, gone: readonly (Block & Partial<Head>)[] = []): Promise<Head> {
    const { blockTag, minBlock, onWait, signal } = request;
    const missed = gone.at(-1);
    if (missed?.from !== undefined) this.#options.pool.doubtHead(missed.from, missed, request);
    const last = this.#fetch(blockTag, HEAD_AGE_MS_MAX, request);
    const isGone = gone.some(({ hash }) => hash === last.arrived?.hash);
    const fetched = isGone ? this.#fetch(blockTag, Number.NEGATIVE_INFINITY, request) : last;
    let block = signal.aborted ? undefined : fetched.arrived;
    block ??= await awaitFetch(fetched, signal);
    if (block.number >= minBlock) return block;
    const { waiting } = this.#options;
    if (!waiting.take(request)) throw new RpcFailure('min-block-not-reached');
    onWait();
    return this.#awaitBlock(blockTag, minBlock, signal).finally(() => waiting.give(request));
  }

  /** The number of a newest block that is at most 500 ms old. @throws RpcFailure */
  async newestNumber(signal: AbortSignal): Promise<number> {
    const fetched = this.#fetch('latest', HEAD_AGE_MS_MAX);
    return (await awaitFetch(fetched, signal)).number;
  }

  /** Polls all endpoints until one has the block: a single lagging node does not show the state of
   * the chain. Where every head is asked of all of them, what was just fetched is not fetched
   * again. */
  async #awaitBlock(tag: BlockTag, minBlock: number, signal: AbortSignal): Promise<Head> {
    const { blockTime, pool, quorum } = this.#options;
    const firstMs = Math.min(POLL_MS_MAX, Math.max(POLL_MS_MIN, blockTime.ms / 2));
    for (let pauseMs = firstMs; !signal.aborted; pauseMs = Math.min(POLL_MS_MAX, 2 * pauseMs)) {
      const isWide = pool.candidates().length > quorum;
      const fetched = this.#fetch(tag, pauseMs, { isWide });
      const block = await awaitFetch(fetched, signal).catch((error) => {
        if (!signal.aborted) throw error;
      });
      if (block === undefined) break;
      if (block.number >= minBlock) return block;
      const isTooFar = minBlock - block.number > blockTime.blocksIn(AHEAD_MS_MAX);
      if (isTooFar) throw new RpcFailure('block-too-far-ahead');
      await pause(pauseMs, signal);
    }
    throw new RpcFailure('min-block-not-reached');
  }

  /** Returns the last fetch if it is recent enough, else starts a new one. */
  #fetch(tag: BlockTag, ageMsMax: number, breadth: Breadth = {}): Fetched {
    const key = breadth.isWide ? `${tag} of all` : tag;
    return this.#fetches.get(key, ageMsMax, (onFailure) => this.#ask(tag, breadth, onFailure));
  }

  async #ask(
    tag: BlockTag,
    { isWide = false, isAside = false }: Breadth,
    onFailure: (failure: RpcFailure) => void,
  ): Promise<Head> {
    const { quorum, pool, blockTime, closed, onHead } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const seen = isWide ? await this.#fetchFromAll(tag) : [];
      const { answers, failure } =
        seen.length >= quorum
          ? { answers: seen, failure: undefined }
          : await askEndpoints({
              pool,
              candidates: () => pool.candidates(undefined, { isAside }),
              quorum,
              ask: (endpoint, signal) => this.#askEndpoint(endpoint, tag, signal),
              onFailure,
              signal: closed,
            });
      // The newest block that `quorum` endpoints have: an endpoint with a newer head has this block
      // too.
      const newestFirst = answers.toSorted((a, b) => b.number - a.number);
      const named = newestFirst[Math.min(quorum, newestFirst.length) - 1];
      if (named === undefined) throw failure ?? new RpcFailure('unreachable');
      const block = await this.#confirm(named, newestFirst, { isAside, onFailure }).catch(
        (error: unknown) => {
          const isContested = answers.length >= quorum && toRpcFailure(error).kind === 'too-few-headers';
          if (!isContested || attempt === ATTEMPTS_MAX) throw error;
        },
      );
      if (block === undefined) {
        // For a moment the endpoints may be on different forks.
        await pause(Math.min(blockTime.ms, CONTEST_MS_MAX), closed);
        continue;
      }
      // Without a quorum neither of two heads is the right one.
      const isContradicted = (head: Head) =>
        quorum > 1 && head.number === block.number && nameOfHeader(head) !== nameOfHeader(block);
      const liars = answers.filter(isContradicted).map(({ from }) => from);
      for (const endpoint of liars) pool.distrustHeads(endpoint);
      // Of all endpoints the others have answered already.
      if (liars.length > 0 && seen.length < quorum && attempt < ATTEMPTS_MAX) continue;
      if (tag === 'latest') this.#requireFresh(block);
      onHead(block);
      return block;
    }
  }

  /**
   * A block with the header that as many endpoints give as the quorum requires: an endpoint whose
   * head is another one is asked for the header at the same number, and so is one more endpoint
   * while two contradict each other. None is asked where the newest head is as close as endpoints
   * usually are to each other, by its time too, and all reads prove the block: then a lie could set
   * checks back by this little only.
   *
   * @throws RpcFailure
   */
  async #confirm(
    named: Head,
    /** The newest first. */
    answers: readonly Head[],
    { isAside, onFailure }: Pick<Breadth, 'isAside'> & { onFailure: (failure: RpcFailure) => void },
  ): Promise<Head> {
    const { quorum, pool, blockTime, closed } = this.#options;
    if (quorum === 1) return named;
    if (answers.length < quorum) throw new RpcFailure('too-few-headers');
    const candidates = () => pool.candidates(named, { isAside });
    const [newest = named] = answers;
    const blocks = newest.number - named.number;
    const laterMs = (newest.timestamp - named.timestamp) * 1_000;
    const isClose = blocks <= blockTime.blocksIn(NOT_YET_MS) && laterMs <= blocks * blockTime.ms + NOT_YET_MS;
    const areProving = candidates().every(({ capabilities }) => capabilities?.method !== 'plain');
    if (blocks > 0 && isClose && laterMs >= 0 && areProving) return named;
    const known = new Map(
      answers.filter(({ number }) => number === named.number).map((head) => [head.from, head]),
    );
    const [block] = await fetchAgreed({
      pool,
      candidates: () => [...new Set([...answers.map(({ from }) => from), ...candidates()])],
      quorum,
      ask: async (endpoint, signal) => [
        known.get(endpoint) ?? (await fetchNewBlock(endpoint, named.number, signal)),
      ],
      patienceMs: async () => NOT_YET_MS - pool.ageMs(named),
      onFailure,
      signal: closed,
    }).catch((error: unknown) => {
      const failure = toRpcFailure(error);
      throw failure.kind === 'block-mismatch' ? failure.as('too-few-headers') : failure;
    });
    return { ...named, ...block };
  }

  /** Heads of all endpoints that answer in time: a hanging endpoint must not hide the heads of the
   * others. */
  async #fetchFromAll(tag: BlockTag): Promise<Head[]> {
    const seen: Head[] = [];
    const { pool } = this.#options;
    const looks = pool.candidates().map(async (endpoint) => {
      await pool.capabilitiesOf(endpoint);
      seen.push(await this.#askEndpoint(endpoint, tag, this.#options.closed));
    });
    await within(FETCH_ALL_MS_MAX, Promise.allSettled(looks));
    return [...seen];
  }

  async #askEndpoint(endpoint: Endpoint, tag: BlockTag, signal: AbortSignal): Promise<Head> {
    const { maxHeadAgeMs, redisNowMs } = this.#options;
    // A stalled node also reports an old finalized block, so the age of its newest block is checked
    // too.
    const needsNewest = tag === 'latest' || maxHeadAgeMs !== undefined;
    const askedAtMs = redisNowMs();
    const [block, newest] = await Promise.all([
      fetchBlock(endpoint, tag, signal),
      tag !== 'latest' && needsNewest ? fetchBlock(endpoint, 'latest', signal) : undefined,
    ]);
    const head = { ...block, askedAtMs, from: endpoint };
    if (!needsNewest) return head;
    this.#options.pool.noteHead(endpoint, newest ?? block);
    this.#requireFresh(newest ?? block);
    return head;
  }

  /** @throws RpcFailure `chain-stale` */
  #requireFresh({ timestamp }: Block): void {
    const { maxHeadAgeMs, redisNowMs } = this.#options;
    if (maxHeadAgeMs !== undefined && redisNowMs() - timestamp * 1_000 > maxHeadAgeMs)
      throw new RpcFailure('chain-stale');
  }
}
