import { LRUCache } from 'lru-cache';
import { type Repetition, startRepeating } from '#shared/repeat.ts';
import { pause } from '#shared/wait-for.ts';
import type { Block } from '../blocks/block.ts';
import { fetchBlock, fetchNewBlock, fetchOwnBlock } from '../blocks/block.ts';
import { type FailureKind, isAbout, RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import type { BlockTime } from './block-time.ts';
import { NOT_YET_MS } from './call-lag.ts';
import type { CallKind, Capabilities, Endpoint, EndpointHealth } from './endpoint.ts';

/** Interval of the background checks of the endpoints. */
const WATCH_MS = 250;
/** Heads are followed, at most one per second and endpoint, while a read used this chain within
 * this time. */
const HEAD_MS_MIN = 1_000;
const DEMAND_MS_MAX = 60_000;
/** Whether the chain can be read is known while a read used it within this time. */
const ASKED_MS_MAX = 15_000;
/** An endpoint this far behind the newest head is asked last. */
const LAG_MS_MAX = 10_000;
/** Hedging may add this fraction to all calls… */
const HEDGE_PART = 0.05;
/** …and at most this many unused hedges accumulate. */
const HEDGES_MAX = 3;
/** An endpoint that has calls in flight and has answered none for this long is quiet, then
 * silent. */
const QUIET_MS = 250;
const SILENT_MS = 1_500;
/** Pause between background probes of an endpoint after a failed probe: doubles up to the
 * maximum. */
const REPROBE_PAUSE_MS_MIN = 500;
const REPROBE_PAUSE_MS_MAX = 8_000;
/** Minimum time between two health reports of one endpoint, so that a flapping endpoint does not
 * flood the log. */
const REPORT_MS_MIN = 10_000;
/** For how long an endpoint is doubted before a call of the service's own finds out whether it is at
 * fault, and the least time between two such calls. That doubles up to the maximum with each that
 * is answered, so that an endpoint that is only asked for too much costs little, and one that fails
 * all calls is out within 10 s. */
const TRIAL_MS_MIN = 1_000;
const TRIAL_MS_MAX = 4_000;
/** Of an endpoint that was never doubted: older than any answer, and than none. */
const NO_DOUBT = { doubtedMs: Number.NEGATIVE_INFINITY, atMs: 0, pauseMs: TRIAL_MS_MIN } as const;
/** A trial reads at a block so far below the head that the endpoint must have it, and not so far
 * that its state is gone. */
const TRIAL_BLOCKS_MIN = 16;
const TRIAL_BLOCKS_MAX = 64;
/** The strikes of a failed trial: three trials in a row open the breaker. */
const TRIAL_STRIKES = 2;
/** Blocks whose first sight is remembered. */
const SEEN_MAX = 1_000;
/** For how long the heads of an endpoint do not count after one of them was false: doubles up to the
 * maximum with each one soon after that it cannot read at itself. */
const DISTRUST_MS_MIN = 60_000;
const DISTRUST_MS_MAX = 3_600_000;
/** Weight of a recent failure when endpoints are ordered. */
const STRIKE_WEIGHT = 4;

type EndpointPoolOptions = {
  readonly endpoints: readonly Endpoint[];
  readonly quorum: number;
  /** @throws RpcFailure */
  readonly probe: (endpoint: Endpoint, signal: AbortSignal) => Promise<Capabilities>;
  /**
   * Makes one read of the service's own at a block, in the way that clients' reads take.
   *
   * @param strikesOf the strikes that a failure adds to the breaker
   * @throws RpcFailure
   */
  readonly tryOut: (
    endpoint: Endpoint,
    block: Block,
    strikesOf: (failure: RpcFailure) => number,
    signal: AbortSignal,
  ) => Promise<unknown>;
  readonly blockTime: BlockTime;
  readonly onHedge: () => void;
  readonly onHealth: (endpoint: Endpoint, health: EndpointHealth) => void;
  /** Called repeatedly while all endpoints are quiet. */
  readonly onQuiet: () => void;
  /** Called repeatedly while all endpoints are silent. */
  readonly onSilence: () => void;
  readonly monotonicMs: () => number;
};

/** The endpoints of one chain: which one to ask next, and the state of each. */
export class EndpointPool implements AsyncDisposable {
  readonly endpoints: readonly Endpoint[];
  readonly #options: EndpointPoolOptions;
  readonly #probes = new Map<Endpoint, Promise<Capabilities>>();
  readonly #headFetchedMs = new Map<Endpoint, number>();
  /** By kind of call, since when each endpoint is doubted, when it may be tried out again, and the
   * pause before that. */
  readonly #trials: Record<CallKind, Map<Endpoint, Readonly<Record<keyof typeof NO_DOUBT, number>>>> = {
    head: new Map(),
    call: new Map(),
  };
  readonly #trialBlocks = new Map<Endpoint, Block>();
  /** Endpoints that have named a false head: until when their heads do not count, and for how long. */
  readonly #distrusted = new Map<Endpoint, { readonly untilMs: number; readonly ms: number }>();
  /** Endpoints that are tried out at a head of theirs, whose logs nobody has. */
  readonly #doubtedAside = new Set<Endpoint>();
  /** When each block was first seen, by its hash. */
  readonly #seenMs = new LRUCache<string, number>({ max: SEEN_MAX });
  readonly #reported = new Map<Endpoint, { readonly atMs: number; readonly health: EndpointHealth }>();
  /** For endpoints whose last probe failed: when the next background probe is due, and the pause
   * after it. */
  readonly #nextProbes = new Map<Endpoint, { readonly atMs: number; readonly pauseMs: number }>();
  readonly #controller = new AbortController();
  readonly #watching: Repetition;
  #demandMs = Number.NEGATIVE_INFINITY;
  #hedgeCredit = 1;

  constructor(options: EndpointPoolOptions) {
    this.#options = options;
    this.endpoints = options.endpoints;
    this.#watching = startRepeating(() => this.#watch(), { intervalMs: WATCH_MS });
    for (const endpoint of this.endpoints) this.#probeInBackground(endpoint);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching.stop();
    this.#controller.abort();
  }

  /**
   * Returns the endpoints that may be asked now, best first: endpoints that have the block (or are
   * not far behind) come before the others; among equals, fast, idle and healthy endpoints come
   * first. Where no block is given, endpoints whose heads do not count come last.
   *
   * @param isAside for calls that no check waits for: they cause no background calls of their own
   */
  candidates(block?: Block, { isAside = false } = {}): Endpoint[] {
    if (!isAside) this.#demandMs = this.#options.monotonicMs();
    const wantedNumber = block?.number ?? this.#newestNumber - this.#options.blockTime.blocksIn(LAG_MS_MAX);
    const isBehind = (endpoint: Endpoint) => {
      const number = this.#headNumberOf(endpoint);
      return number < 0 ? block === undefined && this.#isDistrusted(endpoint) : number < wantedNumber;
    };
    const ageMs = block === undefined ? Number.POSITIVE_INFINITY : this.ageMs(block);
    return this.endpoints
      .filter((endpoint) => endpoint.isUsable)
      .map((endpoint) => ({ endpoint, isBehind: isBehind(endpoint), load: loadOf(endpoint, ageMs) }))
      .sort((a, b) => Number(a.isBehind) - Number(b.isBehind) || a.load - b.load)
      .map(({ endpoint }) => endpoint);
  }

  /**
   * Returns after how many ms a rate-limited endpoint that has not answered yet may be asked;
   * `undefined`: there is none.
   */
  readyInMs(answered: ReadonlySet<Endpoint>): number | undefined {
    const waits = this.endpoints
      .filter((endpoint) => endpoint.breakerState === 'closed' && !answered.has(endpoint))
      .map(({ waitMs }) => waitMs)
      .filter((waitMs) => waitMs > 0);
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  /** Whether every endpoint is quiet or out, so that waiting checks may wait for long. */
  get isQuiet(): boolean {
    return this.#isWithoutAnswerFor(QUIET_MS);
  }

  /** Whether no endpoint answers: each one is silent or its breaker is not closed. */
  get isSilent(): boolean {
    return this.#isWithoutAnswerFor(SILENT_MS);
  }

  /** Whether any endpoint can be read; `undefined` while no check asks, or before the first probe
   * has ended. */
  isReadable(): boolean | undefined {
    if (this.#options.monotonicMs() - this.#demandMs > ASKED_MS_MAX) return undefined;
    if (this.endpoints.some((endpoint) => this.#canRead(endpoint))) return true;
    return this.endpoints.some(({ health }) => health.state === 'starting') ? undefined : false;
  }

  #canRead({ health, silentForMs, answeredMs }: Endpoint): boolean {
    if (silentForMs > SILENT_MS) return false;
    // A rate limit adds no strikes, so an endpoint that refuses every call has a closed breaker.
    const isAnswering = () => this.#options.monotonicMs() - answeredMs.call <= ASKED_MS_MAX;
    return health.state === 'up' || (health.state === 'rate-limited' && isAnswering());
  }

  #isWithoutAnswerFor(ms: number): boolean {
    return this.endpoints.every(
      (endpoint) => endpoint.silentForMs > ms || endpoint.breakerState !== 'closed',
    );
  }

  /** Returns an endpoint's capabilities, probed on first use and periodically.
   * @throws RpcFailure */
  async capabilitiesOf(endpoint: Endpoint): Promise<Capabilities> {
    return endpoint.capabilities ?? this.#probe(endpoint);
  }

  /** How long ago this process first saw a block, in ms. */
  ageMs({ hash }: Block): number {
    const nowMs = this.#options.monotonicMs();
    const seenMs = this.#seenMs.get(hash) ?? nowMs;
    this.#seenMs.set(hash, seenMs);
    return nowMs - seenMs;
  }

  /** Whether blocks above this one show that it is older than the time within which endpoints get a
   * block. */
  isBuried({ number }: Block): boolean {
    return this.#newestNumber - number > this.#options.blockTime.blocksIn(NOT_YET_MS);
  }

  noteHead(endpoint: Endpoint, block: Block): void {
    endpoint.headNumber = block.number;
    this.ageMs(block);
    const newest = this.#newestNumber;
    if (newest >= 0 && this.#headNumberOf(endpoint) >= newest)
      this.#options.blockTime.note(newest, this.#options.monotonicMs());
  }

  /** The heads of an endpoint do not count for some time: others contradict one of them, which may be
   * of another fork. */
  distrustHeads(endpoint: Endpoint, ms = DISTRUST_MS_MIN): void {
    if (this.#isDistrusted(endpoint)) return;
    this.#distrusted.set(endpoint, { untilMs: this.#options.monotonicMs() + ms, ms });
  }

  /**
   * No endpoint could read at a head. The one that named it is at fault unless it serves a read of
   * the service's own there, or has another block in its place by now: until that is known, and if
   * it is so, its heads do not count. Runs in the background.
   *
   * @param isAside no check has tried, and the logs of the block may only be late: the heads count
   *   until it is known that the endpoint is at fault
   */
  doubtHead(endpoint: Endpoint, block: Block, { isAside = false } = {}): void {
    if (this.#isDistrusted(endpoint)) return;
    const before = this.#distrusted.get(endpoint);
    const isRepeated = before && this.#options.monotonicMs() < before.untilMs + before.ms;
    const distrust = () =>
      this.distrustHeads(endpoint, isRepeated ? Math.min(DISTRUST_MS_MAX, 2 * before.ms) : DISTRUST_MS_MIN);
    if (isAside && this.#doubtedAside.has(endpoint)) return;
    if (isAside) this.#doubtedAside.add(endpoint);
    else distrust();
    const { signal } = this.#controller;
    const tryOut = async () => {
      await pause(Math.max(0, NOT_YET_MS - this.ageMs(block)), signal);
      await this.#options.tryOut(endpoint, block, () => 0, signal);
    };
    const requireReplaced = async () => {
      const { hash } = await fetchNewBlock(endpoint, block.number, signal);
      if (hash === block.hash) throw new RpcFailure('block-mismatch');
    };
    const restore = () => {
      if (isAside) return;
      if (before === undefined) this.#distrusted.delete(endpoint);
      else this.#distrusted.set(endpoint, before);
    };
    requireReplaced()
      .catch(tryOut)
      .catch(requireReplaced)
      .then(restore, distrust)
      .finally(() => isAside && this.#doubtedAside.delete(endpoint));
  }

  #isDistrusted(endpoint: Endpoint): boolean {
    const distrust = this.#distrusted.get(endpoint);
    return distrust !== undefined && this.#options.monotonicMs() < distrust.untilMs;
  }

  /** The number of the newest block that an endpoint has, as far as it counts; -1: it is not known. */
  #headNumberOf(endpoint: Endpoint): number {
    return this.#isDistrusted(endpoint) ? -1 : endpoint.headNumber;
  }

  /**
   * Finds out whether an endpoint is at fault after calls that carry a client's choice have failed:
   * by a call of the same kind that carries none, at most once a second, once such calls have failed
   * for a second and none was answered in between. Its outcome counts. Runs in the background.
   */
  doubt(endpoint: Endpoint, kind: CallKind): void {
    const trials = this.#trials[kind];
    const nowMs = this.#options.monotonicMs();
    const { atMs, pauseMs, ...before } = trials.get(endpoint) ?? NO_DOUBT;
    const isAnswered = endpoint.answeredMs[kind] >= before.doubtedMs;
    const doubtedMs = isAnswered ? nowMs : before.doubtedMs;
    trials.set(endpoint, { doubtedMs, atMs, pauseMs });
    if (nowMs < atMs || nowMs - doubtedMs < TRIAL_MS_MIN) return;
    const setPause = (ms: number) => trials.set(endpoint, { doubtedMs, atMs: nowMs + ms, pauseMs: ms });
    setPause(pauseMs);
    const { signal } = this.#controller;
    const trial = kind === 'head' ? fetchBlock(endpoint, 'latest', signal) : this.#tryOut(endpoint, signal);
    trial.then(
      () => setPause(Math.min(TRIAL_MS_MAX, 2 * pauseMs)),
      () => setPause(TRIAL_MS_MIN),
    );
  }

  async #tryOut(endpoint: Endpoint, signal: AbortSignal): Promise<void> {
    // Without capabilities there is no way of reading: the next probe is the trial.
    if (endpoint.capabilities === undefined) return;
    const block = await this.#trialBlockOf(endpoint, endpoint.capabilities, signal);
    // The endpoint has this block, so an error about it is its own fault, whatever its words.
    const strikesOf = ({ kind, strikes, isErrorAnswer }: RpcFailure) =>
      kind !== 'rate-limited' && (strikes > 0 || isErrorAnswer) ? TRIAL_STRIKES * Math.max(strikes, 1) : 0;
    await this.#options.tryOut(endpoint, block, strikesOf, signal);
  }

  /** A block that every node behind the endpoint's URL has, with its state: so far below the head
   * that the endpoint returned. */
  async #trialBlockOf(endpoint: Endpoint, { fromBlock }: Capabilities, signal: AbortSignal): Promise<Block> {
    const known = this.#trialBlocks.get(endpoint);
    const { headNumber } = endpoint;
    if (known !== undefined && known.number <= headNumber && headNumber - known.number <= TRIAL_BLOCKS_MAX)
      return known;
    const depth = Math.max(TRIAL_BLOCKS_MIN, this.#options.blockTime.blocksIn(NOT_YET_MS));
    const block = await fetchOwnBlock(endpoint, Math.max(fromBlock, headNumber - depth), signal);
    this.#trialBlocks.set(endpoint, block);
    return block;
  }

  /**
   * Returns after how many ms another endpoint may be asked as well: the 95th percentile of the
   * endpoint's latency. Each call earns a fraction of a hedge, so that hedges stay a small share of
   * all calls.
   */
  hedgeAfterMs(endpoint: Endpoint): number | undefined {
    if (this.endpoints.length < 2) return undefined;
    this.#hedgeCredit = Math.min(HEDGES_MAX, this.#hedgeCredit + HEDGE_PART);
    return this.#hedgeCredit < 1 ? undefined : endpoint.latency.p95Ms;
  }

  spendHedge(): void {
    this.#hedgeCredit -= 1;
    this.#options.onHedge();
  }

  /**
   * Why no endpoint can be asked: one that serves another chain takes precedence, because an
   * operator can correct it, then that all of them answer another block than the requested one.
   */
  whyNoCandidate(): FailureKind {
    const reasons = this.endpoints.map(({ health }) => health.reason);
    if (reasons.includes('wrong-chain')) return 'wrong-chain';
    return reasons.every((reason) => reason === 'block-mismatch') ? 'block-mismatch' : 'breaker-open';
  }

  /** The number of the newest block that as many endpoints have as the quorum requires; also of heads
   * that do not count, where the others are too few. */
  get #newestNumber(): number {
    const counting = this.endpoints.filter((endpoint) => !this.#isDistrusted(endpoint));
    const asked = counting.length < this.#options.quorum ? this.endpoints : counting;
    const numbers = asked.map(({ headNumber }) => headNumber);
    return numbers.toSorted((a, b) => b - a)[this.#options.quorum - 1] ?? -1;
  }

  #probe(endpoint: Endpoint): Promise<Capabilities> {
    const flying = this.#probes.get(endpoint);
    if (flying !== undefined) return flying;
    const probe = this.#options
      .probe(endpoint, this.#controller.signal)
      .then((capabilities) => {
        endpoint.learn(capabilities);
        this.#nextProbes.delete(endpoint);
        return capabilities;
      })
      .catch((error) => {
        const { kind, strikes } = toRpcFailure(error);
        endpoint.noteFailure(kind);
        if (!isAbout(kind, 'transport') && kind !== 'wrong-chain') endpoint.strike('call', strikes);
        throw error;
      })
      .finally(() => this.#probes.delete(endpoint));
    this.#probes.set(endpoint, probe);
    return probe;
  }

  /** Follows the heads of several endpoints while there is demand, and probes endpoints that were
   * down. */
  #watch(): void {
    const now = this.#options.monotonicMs();
    this.#reportHealth(now);
    if (this.isQuiet) this.#options.onQuiet();
    if (this.isSilent) this.#options.onSilence();
    const isWanted = now - this.#demandMs < DEMAND_MS_MAX;
    for (const endpoint of this.endpoints) {
      if (!endpoint.isUsable) continue;
      const mustProbe = endpoint.capabilities === undefined || (isWanted && endpoint.isOutdated);
      if (mustProbe) this.#probeInBackground(endpoint);
      else if (isWanted && this.endpoints.length > 1) this.#fetchHead(endpoint, now);
    }
  }

  #reportHealth(now: number): void {
    for (const endpoint of this.endpoints) {
      const { health } = endpoint;
      const last = this.#reported.get(endpoint);
      if (last === undefined ? health.state === 'starting' : isSameHealth(last.health, health)) continue;
      if (last !== undefined && now - last.atMs < REPORT_MS_MIN) continue;
      this.#reported.set(endpoint, { atMs: now, health });
      this.#options.onHealth(endpoint, health);
    }
  }

  /**
   * Probes without a caller that waits; a failure counts against the endpoint. Its breaker may stay
   * closed even so (the endpoint reports its chain and head but supports no read method), so
   * background probes have a pause of their own.
   */
  #probeInBackground(endpoint: Endpoint): void {
    const now = this.#options.monotonicMs();
    const { atMs, pauseMs } = this.#nextProbes.get(endpoint) ?? { atMs: now, pauseMs: REPROBE_PAUSE_MS_MIN };
    if (now < atMs || this.#probes.has(endpoint)) return;
    this.#probe(endpoint).catch(() => {
      const next = {
        atMs: this.#options.monotonicMs() + pauseMs,
        pauseMs: Math.min(REPROBE_PAUSE_MS_MAX, 2 * pauseMs),
      };
      this.#nextProbes.set(endpoint, next);
    });
  }

  #fetchHead(endpoint: Endpoint, now: number): void {
    const fetchedMs = this.#headFetchedMs.get(endpoint) ?? Number.NEGATIVE_INFINITY;
    if (now - fetchedMs < Math.max(HEAD_MS_MIN, this.#options.blockTime.ms)) return;
    this.#headFetchedMs.set(endpoint, now);
    fetchBlock(endpoint, 'latest', this.#controller.signal).then(
      (block) => this.noteHead(endpoint, block),
      () => undefined,
    );
  }
}

/** An endpoint that is down and fails for another reason has not changed its health. */
const isSameHealth = (one: EndpointHealth, other: EndpointHealth): boolean =>
  one.state === other.state && (one.state !== 'up' || one.method === other.method);

const loadOf = ({ latency, inFlightCount, strikes, waitMs, lag }: Endpoint, ageMs: number): number =>
  (latency.meanMs + waitMs + Math.max(0, lag.ms - ageMs) + 1) *
  (inFlightCount + 1) *
  (1 + STRIKE_WEIGHT * strikes);
