import { pause } from '#shared/wait-for.ts';
import { type FailureKind, RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import type { Capabilities, Endpoint } from './endpoint.ts';
import type { EndpointPool } from './endpoint-pool.ts';

/** How many times the whole list of endpoints is tried. */
const ROUNDS_MAX = 3;
const ROUND_PAUSE_MS = 100;
/** Longest pause while a block is not there yet: the pauses double up to it. */
const BLOCK_PAUSE_MS_MAX = 1_600;
/** The first pause after the answer from another block: the next request may reach another node. */
const MISMATCH_PAUSE_MS = 25;
/** How long at a time and altogether to wait for a rate-limited endpoint, and how many times it may
 * refuse the question. */
const WAIT_MS_MAX = 2_000;
const WAITED_MS_MAX = 10_000;
const REFUSALS_MAX = 5;
/** Each refusal of a question makes its next wait longer by this factor: a provider that counts
 * requests may refuse the same place of each second. */
const WAIT_GROWTH = 1.3;

export type Question<T> = {
  readonly pool: Pick<
    EndpointPool,
    'capabilitiesOf' | 'hedgeAfterMs' | 'readyInMs' | 'spendHedge' | 'whyNoCandidate'
  >;
  /** The endpoints that may be asked now, best first. */
  readonly candidates: () => readonly Endpoint[];
  /** Whether another endpoint is asked as well when one is slow; default: yes. */
  readonly isHedged?: boolean;
  /** How many answers are requested at first. */
  readonly quorum: number;
  /** Whether the answers so far are sufficient, default: yes; if not, one more endpoint is asked, as
   * long as there is one. */
  readonly isSettled?: (answers: readonly T[]) => boolean;
  /** Asks an endpoint that has been probed. */
  readonly ask: (endpoint: Endpoint, signal: AbortSignal, capabilities: Capabilities) => Promise<T>;
  /**
   * For how long the endpoints may still get a block that one of them does not have
   * (`block-unavailable`, or `block-mismatch` where a node behind its URL answered from another
   * one), in ms; 0: the number of rounds decides. Absent: the caller waits for the block itself, so
   * a round of `block-unavailable` alone is the last one.
   */
  readonly patienceMs?: (round: number) => Promise<number>;
  readonly onFailure?: (failure: RpcFailure) => void;
  readonly signal: AbortSignal;
};

type Answers<T> = {
  /** In order of arrival; empty if every endpoint failed. */
  readonly answers: readonly T[];
  /** The last failure seen; without one, why fewer than the quorum have answered. */
  readonly failure: RpcFailure | undefined;
};

type Event<T> =
  | { readonly endpoint: Endpoint; readonly answer: { readonly value: T } }
  | { readonly endpoint: Endpoint; readonly failure: RpcFailure };

/**
 * Asks as many endpoints as the quorum requires, the next one for each that fails or is slow, and
 * one more while the answers are not sufficient. No endpoint answers twice. Bounded by the number
 * of rounds, and while a block is new enough to come by `patienceMs`.
 */
export async function askEndpoints<T>(question: Question<T>): Promise<Answers<T>> {
  const asking = new Asking(question);
  try {
    return await asking.run();
  } finally {
    asking.abandonRest();
  }
}

class Asking<T> {
  readonly #question: Question<T>;
  readonly #controller = new AbortController();
  readonly #abandon = () => this.#controller.abort();
  readonly #inFlight = new Map<Endpoint, Promise<Event<T>>>();
  readonly #answered = new Set<Endpoint>();
  readonly #answers: T[] = [];
  #tried = new Set<Endpoint>();
  #wanted: number;
  #failure: RpcFailure | undefined;
  /** The kinds of failures of this round. */
  #kinds = new Set<FailureKind>();
  /** When an endpoint that refused this round's question for its rate may be asked again; 0: none
   * did. */
  #retryAfterMs = 0;

  constructor(question: Question<T>) {
    this.#question = question;
    this.#wanted = question.quorum;
    if (question.signal.aborted) this.#abandon();
    question.signal.addEventListener('abort', this.#abandon);
  }

  abandonRest(): void {
    this.#question.signal.removeEventListener('abort', this.#abandon);
    // An abort creates an error with a stack, so abort only if a call is in flight.
    if (this.#inFlight.size > 0) this.#abandon();
  }

  async run(): Promise<Answers<T>> {
    for (let round = 1, waitedMs = 0, refusals = 0; !this.#isOver(); ) {
      while (this.#inFlight.size + this.#answers.length < this.#wanted && this.#launchNext());
      if (this.#inFlight.size > 0) {
        this.#take(await this.#nextEvent());
        continue;
      }
      const { patienceMs, pool, signal } = this.#question;
      const isMissing = this.#kinds.has('block-unavailable');
      const isMismatch = this.#kinds.has('block-mismatch');
      // The caller waits for the block.
      const isLast = patienceMs === undefined && isMissing && this.#kinds.size === 1;
      const isHopeless = !this.#hasUnansweredCandidate || isLast || round >= ROUNDS_MAX;
      const readyInMs = Math.max(
        this.#retryAfterMs,
        (isHopeless ? pool.readyInMs(this.#answered) : undefined) ?? 0,
      );
      // One became free since the look at the candidates.
      if (this.#nextCandidate !== undefined) continue;
      if (readyInMs > 0 && readyInMs <= WAIT_MS_MAX && waitedMs < WAITED_MS_MAX && refusals < REFUSALS_MAX) {
        // That other questions were refused says nothing about this one.
        const isOwn = this.#retryAfterMs > 0;
        const pauseMs = isOwn ? readyInMs * WAIT_GROWTH ** refusals : readyInMs;
        await pause(pauseMs, signal);
        waitedMs += pauseMs;
        if (isOwn) refusals += 1;
      } else {
        if (!this.#hasFailed || isLast) break;
        const isWaitedFor = (isMissing || isMismatch) && patienceMs !== undefined;
        const leftMs = isWaitedFor ? await patienceMs(round) : 0;
        if (leftMs <= 0 && round >= ROUNDS_MAX) break;
        const firstMs = isMissing ? ROUND_PAUSE_MS : MISMATCH_PAUSE_MS;
        const blockPauseMs = Math.min(leftMs, BLOCK_PAUSE_MS_MAX, firstMs * 2 ** (round - 1));
        await pause(leftMs > 0 ? blockPauseMs : ROUND_PAUSE_MS * round, signal);
        round += 1;
      }
      this.#kinds = new Set();
      this.#retryAfterMs = 0;
      this.#tried = new Set();
    }
    const isEnough = this.#answers.length >= this.#question.quorum;
    return {
      answers: this.#answers,
      failure: this.#failure ?? (isEnough ? undefined : this.#whyNoCandidate()),
    };
  }

  /** Whether an endpoint that has not answered yet may be asked now. */
  get #hasUnansweredCandidate(): boolean {
    return this.#question.candidates().some((endpoint) => !this.#answered.has(endpoint));
  }

  /** Whether an endpoint of this round gave no answer, so that asking it again may help. */
  get #hasFailed(): boolean {
    return [...this.#tried].some((endpoint) => !this.#answered.has(endpoint));
  }

  #isOver(): boolean {
    if (this.#question.signal.aborted) return true;
    if (this.#answers.length < this.#wanted) return false;
    if (this.#question.isSettled?.(this.#answers) ?? true) return true;
    this.#wanted += 1;
    return false;
  }

  #whyNoCandidate(): RpcFailure {
    if (this.#question.signal.aborted) return new RpcFailure('abandoned');
    return new RpcFailure(this.#question.pool.whyNoCandidate());
  }

  get #nextCandidate(): Endpoint | undefined {
    const isFree = (endpoint: Endpoint) =>
      !this.#tried.has(endpoint) && !this.#answered.has(endpoint) && !this.#inFlight.has(endpoint);
    return this.#question.candidates().find(isFree);
  }

  #launchNext(): boolean {
    const endpoint = this.#nextCandidate;
    if (endpoint === undefined) return false;
    this.#tried.add(endpoint);
    this.#inFlight.set(endpoint, this.#ask(endpoint));
    return true;
  }

  async #ask(endpoint: Endpoint): Promise<Event<T>> {
    const { ask, pool } = this.#question;
    try {
      const capabilities = await pool.capabilitiesOf(endpoint);
      return { endpoint, answer: { value: await ask(endpoint, this.#controller.signal, capabilities) } };
    } catch (error) {
      return { endpoint, failure: toRpcFailure(error) };
    }
  }

  /** Waits for the next answer or failure; if the oldest call is slow, hedges it with a call to
   * another endpoint. */
  async #nextEvent(): Promise<Event<T>> {
    const { pool, isHedged = true } = this.#question;
    const [slowest] = this.#inFlight.keys();
    const hedgeMs = slowest && isHedged ? pool.hedgeAfterMs(slowest) : undefined;
    if (hedgeMs === undefined) return Promise.race(this.#inFlight.values());
    const timer = new AbortController();
    const overtime = pause(hedgeMs, timer.signal);
    const event = await Promise.race([...this.#inFlight.values(), overtime]);
    timer.abort();
    if (event !== undefined) return event;
    if (this.#launchNext()) pool.spendHedge();
    return Promise.race(this.#inFlight.values());
  }

  #take(event: Event<T>): void {
    this.#inFlight.delete(event.endpoint);
    if ('answer' in event) {
      this.#answered.add(event.endpoint);
      this.#answers.push(event.answer.value);
      return;
    }
    if (event.failure.kind === 'abandoned') return;
    this.#failure = event.failure;
    this.#kinds.add(event.failure.kind);
    if (event.failure.kind === 'rate-limited') this.#retryAfterMs = event.failure.retryAfterMs ?? 0;
    this.#question.onFailure?.(event.failure);
  }
}
