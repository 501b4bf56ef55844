import type { Block } from '../blocks/block.ts';
import { fetchBlock } from '../blocks/block.ts';
import { type FailureKind, toRpcFailure } from '../rpc/rpc-failure.ts';
import type { Capabilities, Endpoint, EndpointHealth } from './endpoint.ts';

/** Between two looks at the endpoints. */
const WATCH_MS = 250;
/** Heads are followed while somebody asked for one in this time. */
const DEMAND_MS_MAX = 60_000;
/** What an endpoint can do is found out anew after this time; sooner where it has less than the best. */
const CAPABILITIES_MS_MAX = { reader: 300_000, multicall3: 60_000, plain: 60_000 } as const;
/** An endpoint this far behind the newest head that any has shown is asked last. */
const LAG_MS_MAX = 10_000;
/** Overtaking a slow call by another may add this part to all calls… */
const HEDGE_PART = 0.05;
/** …of which so many may be saved up. */
const HEDGES_MAX = 3;
/** Calls that wait for longer without one being answered make an endpoint quiet, and at last silent. */
const QUIET_MS = 250;
const SILENT_MS = 1_500;
/** After a look that failed, the next one that nobody waits for: twice as late each time, up to the bound. */
const REPROBE_PAUSE_MS_MIN = 500;
const REPROBE_PAUSE_MS_MAX = 8_000;
/** Between two reports of one endpoint's health, so that one that comes and goes does not fill the log. */
const REPORT_MS_MIN = 10_000;
/** How much a recent failure counts against an endpoint when the next one is chosen. */
const STRIKE_WEIGHT = 4;

export type EndpointPoolOptions = {
  readonly endpoints: readonly Endpoint[];
  /** @throws RpcFailure */
  readonly probe: (endpoint: Endpoint, signal: AbortSignal) => Promise<Capabilities>;
  /** A call that costs a sound endpoint next to nothing. @throws RpcFailure */
  readonly callCheaply: (endpoint: Endpoint, signal: AbortSignal) => Promise<unknown>;
  readonly blockTimeMs: number;
  readonly onHedge: () => void;
  /** Called when the health of an endpoint has changed. */
  readonly onHealth: (endpoint: Endpoint, health: EndpointHealth) => void;
  /** Called again and again while no endpoint has answered for a moment. */
  readonly onQuiet: () => void;
  /** Called again and again while no endpoint answers. */
  readonly onSilence: () => void;
  /** Monotonic clock, in ms. */
  readonly monotonicMs: () => number;
};

/** The endpoints of one chain: which one to ask next, and what is known of each. */
export class EndpointPool implements AsyncDisposable {
  readonly endpoints: readonly Endpoint[];
  readonly #options: EndpointPoolOptions;
  readonly #probes = new Map<Endpoint, Promise<Capabilities>>();
  readonly #headFetchedMs = new Map<Endpoint, number>();
  readonly #aliveChecks = new Set<Endpoint>();
  readonly #reported = new Map<Endpoint, { readonly atMs: number; readonly health: EndpointHealth }>();
  /** Of endpoints whose last probe failed: when the watch may try the next one, and how long it will wait then. */
  readonly #nextProbes = new Map<Endpoint, { readonly atMs: number; readonly pauseMs: number }>();
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #demandMs = Number.NEGATIVE_INFINITY;
  #hedgeCredit = 1;

  constructor(options: EndpointPoolOptions) {
    this.#options = options;
    this.endpoints = options.endpoints;
    this.#timer = setInterval(() => this.#watch(), WATCH_MS);
    this.#timer.unref();
    for (const endpoint of this.endpoints) this.#probeInBackground(endpoint);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#controller.abort();
  }

  /**
   * The endpoints that may be asked now, best first: those that have the block (or are not far behind), then
   * the quick, idle and healthy ones.
   */
  candidates(block?: Block): Endpoint[] {
    this.#demandMs = this.#options.monotonicMs();
    const wantedNumber =
      block?.number ?? this.#newestNumber - Math.ceil(LAG_MS_MAX / this.#options.blockTimeMs);
    const isBehind = (endpoint: Endpoint) => endpoint.headNumber >= 0 && endpoint.headNumber < wantedNumber;
    return this.endpoints
      .filter((endpoint) => endpoint.isUsable)
      .map((endpoint) => ({ endpoint, isBehind: isBehind(endpoint), load: loadOf(endpoint) }))
      .sort((a, b) => Number(a.isBehind) - Number(b.isBehind) || a.load - b.load)
      .map(({ endpoint }) => endpoint);
  }

  /**
   * After how many ms an endpoint that only asked to be left alone may be asked; `undefined`: none did, those that
   * have answered passed over.
   */
  readyInMs(answered: ReadonlySet<Endpoint>): number | undefined {
    const waits = this.endpoints
      .filter((endpoint) => endpoint.breakerState === 'closed' && !answered.has(endpoint))
      .map(({ waitMs }) => waitMs)
      .filter((waitMs) => waitMs > 0);
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  /** Whether no endpoint has answered for a moment, so that whoever waits may wait for long. */
  get isQuiet(): boolean {
    return this.#isWithoutAnswerFor(QUIET_MS);
  }

  /** Whether no endpoint answers: each one lets its calls wait or is out. */
  get isSilent(): boolean {
    return this.#isWithoutAnswerFor(SILENT_MS);
  }

  #isWithoutAnswerFor(ms: number): boolean {
    return this.endpoints.every(
      (endpoint) => endpoint.silentForMs > ms || endpoint.breakerState !== 'closed',
    );
  }

  /** What an endpoint can do, found out on the first use and from time to time. @throws RpcFailure */
  async capabilitiesOf(endpoint: Endpoint): Promise<Capabilities> {
    return endpoint.capabilities ?? this.#probe(endpoint);
  }

  /**
   * Tells a dead endpoint from one that was given heavy reads, after a call of reads that timed out: where a cheap call
   * fails as well, that failure counts, and the read's timeout beside it. Nobody waits for this.
   */
  verifyAlive(endpoint: Endpoint): void {
    if (this.#aliveChecks.has(endpoint)) return;
    this.#aliveChecks.add(endpoint);
    this.#options
      .callCheaply(endpoint, this.#controller.signal)
      .catch((error) => {
        const { kind, strikes } = toRpcFailure(error);
        if (kind !== 'abandoned') endpoint.addStrikes(strikes);
      })
      .finally(() => this.#aliveChecks.delete(endpoint));
  }

  /**
   * After how many ms another endpoint may be asked as well: the time in which 95 of 100 calls are answered. Every
   * call earns a part of a hedge, so that hedges stay a small part of all calls.
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

  /** Why no endpoint can be asked: an operator can act where one serves another chain. */
  whyNoCandidate(): FailureKind {
    return this.endpoints.some(({ health }) => health.state === 'wrong-chain')
      ? 'wrong-chain'
      : 'breaker-open';
  }

  get #newestNumber(): number {
    return Math.max(...this.endpoints.map(({ headNumber }) => headNumber));
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
        endpoint.noteFailure(toRpcFailure(error).kind);
        throw error;
      })
      .finally(() => this.#probes.delete(endpoint));
    this.#probes.set(endpoint, probe);
    return probe;
  }

  /** Follows the heads of several endpoints while there is demand, and looks again at those that were away. */
  #watch(): void {
    const now = this.#options.monotonicMs();
    this.#reportHealth(now);
    if (this.isQuiet) this.#options.onQuiet();
    if (this.isSilent) this.#options.onSilence();
    const isWanted = now - this.#demandMs < DEMAND_MS_MAX;
    for (const endpoint of this.endpoints) {
      if (!endpoint.isUsable) continue;
      const { capabilities } = endpoint;
      const isOld =
        capabilities && isWanted && endpoint.knownForMs > CAPABILITIES_MS_MAX[capabilities.method];
      if (capabilities === undefined || isOld) this.#probeInBackground(endpoint);
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
   * A failure counts against the endpoint where it happened; nobody waits for this look. Its breaker may stay closed all
   * the same (the endpoint tells its chain and its head, and can do nothing), so these looks have a pause of their own.
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
    if (now - fetchedMs < this.#options.blockTimeMs) return;
    this.#headFetchedMs.set(endpoint, now);
    fetchBlock(endpoint, 'latest', this.#controller.signal).then(
      ({ number }) => endpoint.recordHead(number),
      () => undefined,
    );
  }
}

/** One that is down stays so while it fails in other ways. */
const isSameHealth = (one: EndpointHealth, other: EndpointHealth): boolean =>
  one.state === other.state && (one.state !== 'up' || one.method === other.method);

const loadOf = ({ latency, inFlightCount, strikes, waitMs }: Endpoint): number =>
  (latency.meanMs + waitMs + 1) * (inFlightCount + 1) * (1 + STRIKE_WEIGHT * strikes);
