import { setTimeout as sleep } from 'node:timers/promises';
import type { BlockTag } from '#shared/contracts/rule.ts';
import { askEndpoints } from './ask-endpoints.ts';
import { type Block, parseBlock } from './block.ts';
import type { Endpoint } from './endpoint.ts';
import { RpcFailure } from './rpc-failure.ts';

/** A head may have been fetched this long before the evaluation began. */
const HEAD_AGE_MS_MAX = 500;
/** A `minBlock` further ahead of the head than what the chain makes in this time is not waited for. */
const AHEAD_MS_MAX = 10_000;
/** Between two looks at a head that has not come far enough. */
const POLL_MS_MIN = 100;
const POLL_MS_MAX = 500;

export type HeadsOptions = {
  /** Usable endpoints, best first. */
  readonly candidates: () => readonly Endpoint[];
  /** Makes sure that the endpoint serves this chain. @throws RpcFailure */
  readonly verify: (endpoint: Endpoint, signal: AbortSignal) => Promise<unknown>;
  readonly quorum: number;
  readonly blockTimeMs: number;
  readonly maxHeadAgeMs: number | undefined;
  /** Epoch ms of the clock that headers are compared with. */
  readonly now: () => number;
  /** A clock that never goes back. */
  readonly nowMs: () => number;
};

export type HeadRequest = {
  readonly tag: BlockTag;
  readonly minBlock: number;
  /** When the evaluation began, by the clock that never goes back. */
  readonly startedMs: number;
  readonly signal: AbortSignal;
};

type Fetched = { readonly startedMs: number; readonly block: Promise<Block> };

/** The heads of one chain, shared by all checks: one fetch serves every check that began around it. */
export class Heads {
  readonly #options: HeadsOptions;
  readonly #fetched = new Map<BlockTag, Fetched>();
  /** Fetches outlive the checks that wait for them; only the chain's end stops them. */
  readonly #controller = new AbortController();

  constructor(options: HeadsOptions) {
    this.#options = options;
  }

  close(): void {
    this.#controller.abort();
  }

  /**
   * The block at which a check reads: a head fetched after it began or at most 500 ms before, and at least
   * `minBlock`.
   *
   * @throws RpcFailure
   */
  async read({ tag, minBlock, startedMs, signal }: HeadRequest): Promise<Block> {
    for (let notBeforeMs = startedMs - HEAD_AGE_MS_MAX; ; ) {
      const block = await unlessAborted(this.#fetch(tag, notBeforeMs), signal);
      if (block.number >= minBlock) return block;
      const isTooFar = minBlock - block.number > Math.ceil(AHEAD_MS_MAX / this.#options.blockTimeMs);
      if (isTooFar) throw new RpcFailure('min-block-not-reached');
      await sleep(this.#pollMs, undefined, { signal }).catch(() => {
        throw new RpcFailure('min-block-not-reached');
      });
      notBeforeMs = this.#options.nowMs() - this.#pollMs;
    }
  }

  get #pollMs(): number {
    return Math.min(POLL_MS_MAX, Math.max(POLL_MS_MIN, this.#options.blockTimeMs / 2));
  }

  /** The last fetch if it began late enough, else a new one. */
  #fetch(tag: BlockTag, notBeforeMs: number): Promise<Block> {
    const known = this.#fetched.get(tag);
    if (known !== undefined && known.startedMs >= notBeforeMs) return known.block;
    const fetched = { startedMs: this.#options.nowMs(), block: this.#ask(tag) };
    this.#fetched.set(tag, fetched);
    // A failure is shared by those who wait for it and kept by nobody.
    fetched.block.catch(() => {
      if (this.#fetched.get(tag) === fetched) this.#fetched.delete(tag);
    });
    return fetched.block;
  }

  async #ask(tag: BlockTag): Promise<Block> {
    const { quorum, candidates } = this.#options;
    const { answers, failure } = await askEndpoints({
      candidates,
      quorum,
      isSettled: () => true,
      ask: (endpoint, signal) => this.#askEndpoint(endpoint, tag, signal),
      hedgeAfterMs: (endpoint) => endpoint.latency.p95Ms,
      signal: this.#controller.signal,
    });
    if (answers.length === 0) throw failure ?? new RpcFailure('unreachable');
    // Of several heads the oldest: every endpoint that showed a later one has it too.
    return answers.reduce((oldest, block) => (block.number < oldest.number ? block : oldest));
  }

  async #askEndpoint(endpoint: Endpoint, tag: BlockTag, signal: AbortSignal): Promise<Block> {
    await this.#options.verify(endpoint, signal);
    const block = await fetchBlock(endpoint, tag, signal);
    if (tag === 'latest') endpoint.headNumber = block.number;
    const { maxHeadAgeMs, now } = this.#options;
    const isStale = maxHeadAgeMs !== undefined && now() - block.timestamp * 1_000 > maxHeadAgeMs;
    if (tag === 'latest' && isStale) throw new RpcFailure('chain-stale');
    return block;
  }
}

/** @throws RpcFailure */
export function fetchBlock(endpoint: Endpoint, tag: BlockTag, signal: AbortSignal): Promise<Block> {
  const request = { method: 'eth_getBlockByNumber', params: `["${tag}",false]` };
  return endpoint.use(signal, async (rpc) => parseBlock(await rpc.call(request, signal)));
}

/** Waits no longer than the check may: the fetch itself goes on for the others. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw new RpcFailure('abandoned');
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(new RpcFailure('abandoned'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
