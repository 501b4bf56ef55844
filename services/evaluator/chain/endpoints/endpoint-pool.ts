import { type Repetition, startRepeating } from '#shared/repeat.ts';
import type { Block } from '../blocks/block.ts';
import { fetchBlock } from '../blocks/block.ts';
import { type FailureKind, toRpcFailure } from '../rpc/rpc-failure.ts';
import type { Capabilities, Endpoint, EndpointHealth } from './endpoint.ts';

/** Interval of the background checks of the endpoints. */
const WATCH_MS = 250;
/** Heads are followed while a read used this chain within this time. */
const DEMAND_MS_MAX = 60_000;
/** An endpoint's capabilities are probed again after this time; sooner if it lacks the best method. */
const CAPABILITIES_MS_MAX = { reader: 300_000, multicall3: 60_000, plain: 60_000 } as const;
/** An endpoint this far behind the newest head of all endpoints is asked last. */
const LAG_MS_MAX = 10_000;
/** Hedging may add this fraction to all calls… */
const HEDGE_PART = 0.05;
/** …and at most this many unused hedges accumulate. */
const HEDGES_MAX = 3;
/** An endpoint that has calls in flight and has answered none for this long is quiet, then silent. */
const QUIET_MS = 250;
const SILENT_MS = 1_500;
/** Pause between background probes of an endpoint after a failed probe: doubles up to the maximum. */
const REPROBE_PAUSE_MS_MIN = 500;
const REPROBE_PAUSE_MS_MAX = 8_000;
/** Minimum time between two health reports of one endpoint, so that a flapping endpoint does not flood the log. */
const REPORT_MS_MIN = 10_000;
/** Weight of a recent failure when endpoints are ordered. */
const STRIKE_WEIGHT = 4;

type EndpointPoolOptions = {
  readonly endpoints: readonly Endpoint[];
  /** @throws RpcFailure */
  readonly probe: (endpoint: Endpoint, signal: AbortSignal) => Promise<Capabilities>;
  /** A call that costs a healthy endpoint almost nothing. @throws RpcFailure */
  readonly callCheaply: (endpoint: Endpoint, signal: AbortSignal) => Promise<unknown>;
  readonly blockTimeMs: number;
  readonly onHedge: () => void;
  /** Called when the health of an endpoint has changed. */
  readonly onHealth: (endpoint: Endpoint, health: EndpointHealth) => void;
  /** Called repeatedly while all endpoints are quiet. */
  readonly onQuiet: () => void;
  /** Called repeatedly while all endpoints are silent. */
  readonly onSilence: () => void;
  /** Monotonic clock, in ms. */
  readonly monotonicMs: () => number;
};

/** The endpoints of one chain: which one to ask next, and the state of each. */
export class EndpointPool implements AsyncDisposable {
  readonly endpoints: readonly Endpoint[];
  readonly #options: EndpointPoolOptions;
  readonly #probes = new Map<Endpoint, Promise<Capabilities>>();
  readonly #headFetchedMs = new Map<Endpoint, number>();
  readonly #aliveChecks = new Set<Endpoint>();
  readonly #reported = new Map<Endpoint, { readonly atMs: number; readonly health: EndpointHealth }>();
  /** For endpoints whose last probe failed: when the next background probe is due, and the pause after it. */
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
   * Returns the endpoints that may be asked now, best first: endpoints that have the block (or are not far behind) come
   * before the others; among equals, fast, idle and healthy endpoints come first.
   */
  candidates(block?: Block): Endpoint[] {
    this.#demandMs = this.#options.monotonicMs();
    return this.candidatesAside(block);
  }

  /** The same for calls that no check waits for: they cause no background calls of their own. */
  candidatesAside(block?: Block): Endpoint[] {
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
   * Returns after how many ms a rate-limited endpoint that has not answered yet may be asked; `undefined`: there is
   * none.
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

  #isWithoutAnswerFor(ms: number): boolean {
    return this.endpoints.every(
      (endpoint) => endpoint.silentForMs > ms || endpoint.breakerState !== 'closed',
    );
  }

  /** Returns an endpoint's capabilities, probed on first use and periodically. @throws RpcFailure */
  async capabilitiesOf(endpoint: Endpoint): Promise<Capabilities> {
    return endpoint.capabilities ?? this.#probe(endpoint);
  }

  /**
   * Distinguishes a dead endpoint from heavy reads after a call for reads timed out: if a cheap call fails too, its
   * failure and the timeout both count against the endpoint. Runs in the background.
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
   * Returns after how many ms another endpoint may be asked as well: the 95th percentile of the endpoint's latency.
   * Each call earns a fraction of a hedge, so that hedges stay a small share of all calls.
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

  /** Why no endpoint can be asked; `wrong-chain` takes precedence, because an operator can correct it. */
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

  /** Follows the heads of several endpoints while there is demand, and probes endpoints that were down. */
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
   * Probes without a caller that waits; a failure counts against the endpoint. Its breaker may stay closed even so (the
   * endpoint reports its chain and head but supports no read method), so background probes have a pause of their own.
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

/** An endpoint that is down and fails for another reason has not changed its health. */
const isSameHealth = (one: EndpointHealth, other: EndpointHealth): boolean =>
  one.state === other.state && (one.state !== 'up' || one.method === other.method);

const loadOf = ({ latency, inFlightCount, strikes, waitMs }: Endpoint): number =>
  (latency.meanMs + waitMs + 1) * (inFlightCount + 1) * (1 + STRIKE_WEIGHT * strikes);
