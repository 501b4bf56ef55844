import { isDeepStrictEqual } from 'node:util';
import { type Admission, Breaker, type BreakerState } from '#shared/breaker/breaker.ts';
import { type Strike, strikesInARow } from '#shared/breaker/strikes.ts';
import { pause } from '#shared/wait-for.ts';
import type { BlockSource } from '../reader/reader-codec.ts';
import type { Rpc } from '../rpc/connect-rpc.ts';
import { type FailureKind, RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { CallLag } from './call-lag.ts';
import { LatencyWindow } from './latency-window.ts';
import { LearnedLimit } from './learned-limit.ts';
import { RateBucket } from './rate-bucket.ts';

/** The state of an endpoint for the operator. */
export type EndpointHealth = {
  /** `starting` until its first probe has ended. */
  readonly state: 'starting' | 'up' | 'down' | 'wrong-chain' | 'rate-limited';
  /** Why its last call failed; absent while it is up. */
  readonly reason: FailureKind | undefined;
  readonly method: ReadMethod | undefined;
};

/** The state of an endpoint for the metrics. */
export type EndpointGauges = {
  readonly breaker: BreakerState;
  readonly health: EndpointHealth;
  readonly headNumber: number;
  readonly inFlightCount: number;
  readonly readsPerCallMax: number;
};

/** The purpose of a call: the chain's blocks, or its state. */
export type CallKind = 'head' | 'call';

export type ReadMethod = 'reader' | 'multicall3' | 'plain';

export type Capabilities = {
  readonly method: ReadMethod;
  /** Whether a block is named by its hash (EIP-1898) or only by its number. */
  readonly pin: 'hash' | 'number';
  /** Where the reader gets the number of the block it runs in. */
  readonly source: BlockSource;
  /** A block at which this was seen to work. */
  readonly fromBlock: number;
  /** Whether it has the contract that keeps block hashes (EIP-2935), which Multicall3 cannot verify
   * itself. */
  readonly hasHistory?: boolean;
};

/** Consecutive strikes of one kind of call that open the breaker, and how long it is open. */
const STRIKES_MAX = 6;
const OPEN_TIMES = { openMsMin: 500, openMsMax: 8_000 };
/**
 * What a probe has found is believed for this time, which doubles with each probe that finds the
 * same and begins anew after a change: a probe may cost twenty calls. The maximum bounds how long
 * an endpoint that begins to serve another chain is not found out.
 */
const BELIEVED_MS_MIN = 60_000;
const BELIEVED_MS_MAX = 300_000;
/** How long an endpoint is reported as rate-limited after its last rate-limit error. */
const RATE_LIMITED_MS = 30_000;
/** Failures that are not evidence about the endpoint. */
const NO_REASONS: ReadonlySet<FailureKind> = new Set(['breaker-open', 'over-rate', 'abandoned']);

export type EndpointOptions = {
  /** Its name or position in the chain file: nothing else of it is logged or sent. */
  readonly name: string;
  readonly rpc: Rpc;
  readonly maxCallsPerBatch?: number | undefined;
  /** Calls per second that this process may make; `undefined`: unlimited. */
  readonly rateShare?: (() => number) | undefined;
  /** Called when a call has ended. */
  readonly onCall?: ((result: 'ok' | FailureKind, durationMs: number) => void) | undefined;
  /** Instead: the endpoint within whose rate this one calls. */
  readonly rateOf?: Endpoint;
  /** No block of the chain has a later time yet, epoch ms; `undefined`: the time of its blocks is
   * not checked. */
  readonly blockTimestampMsMax?: (() => number) | undefined;
  /** Called when a call that carries a client's choice has failed: whether the endpoint is at fault
   * is to be found out. */
  readonly onDoubt?: ((endpoint: Endpoint, kind: CallKind) => void) | undefined;
  readonly monotonicMs: () => number;
};

/** The part of an endpoint that reading balances needs: it makes calls as the service's own, or for
 * clients. */
export type Callable = {
  readonly limit: LearnedLimit;
  /** @throws RpcFailure */
  readonly use: <T>(signal: AbortSignal, send: (rpc: Rpc) => Promise<T>) => Promise<T>;
};

/** The part of the rate for calls that serve one client alone: it has named their block, or they
 * ask a wallet. */
const OWN_PART = 1 / 4;
/** Reads of one call, unless the operator or a refusal sets fewer. */
const READS_MAX = 1_000;
/** A call that would wait longer for the rate limit fails with `over-rate`. */
const RATE_WAIT_MS_MAX = 10_000;

/** One RPC endpoint and all that is known about it. */
export class Endpoint {
  readonly name: string;
  readonly limit: LearnedLimit;
  readonly latency = new LatencyWindow();
  /** How long after a head was seen calls at it are answered. */
  readonly lag = new CallLag();
  /** When each kind of call was last answered. */
  readonly answeredMs: Record<CallKind, number> = {
    head: Number.NEGATIVE_INFINITY,
    call: Number.NEGATIVE_INFINITY,
  };
  inFlightCount = 0;
  /** Number of the newest block it has returned; -1: none yet. */
  headNumber = -1;
  readonly #options: EndpointOptions;
  readonly #strikes = strikesInARow<CallKind>(STRIKES_MAX);
  readonly #breaker: Breaker<Strike<CallKind>>;
  readonly #bucket: RateBucket | undefined;
  readonly #ownBucket: RateBucket | undefined;
  #busyUntilMs = 0;
  #quietSinceMs = 0;
  #capabilities: Capabilities | undefined;
  #learnedMs = 0;
  #believedMs = BELIEVED_MS_MIN;
  #lastFailure: FailureKind | undefined;
  #rateLimitedUntilMs = 0;

  constructor(options: EndpointOptions) {
    this.name = options.name;
    this.#options = options;
    this.limit = new LearnedLimit(options.maxCallsPerBatch ?? READS_MAX, options.monotonicMs);
    this.#breaker = new Breaker(this.#strikes, OPEN_TIMES, options.monotonicMs);
    const { rateShare, rateOf, monotonicMs } = options;
    if (rateOf !== undefined) {
      this.#bucket = rateOf.#bucket;
      this.#ownBucket = rateOf.#ownBucket;
      return;
    }
    if (rateShare === undefined) return;
    this.#bucket = new RateBucket(rateShare, monotonicMs);
    this.#ownBucket = new RateBucket(() => rateShare() * OWN_PART, monotonicMs);
  }

  /** The same endpoint for calls that are no evidence about it and in no metric: with a state of its
   * own, and within the part of the rate for calls that serve one client. */
  twin(): Endpoint {
    return new Endpoint({ ...this.#options, rateOf: this, onCall: undefined, onDoubt: undefined });
  }

  /**
   * Calls for balances that clients choose.
   *
   * @param isOfOne whether they serve one client alone
   */
  forClients(isOfOne: boolean): Callable {
    const { limit } = this;
    return { limit, use: (signal, send) => this.useForClient(signal, send, 'call', isOfOne) };
  }

  get breakerState(): BreakerState {
    return this.#breaker.state;
  }

  get strikes(): number {
    return this.#strikes.mostStrikes();
  }

  /** Absent until a probe has answered, and again after the endpoint was down: its software may
   * have changed. */
  get capabilities(): Capabilities | undefined {
    return this.#capabilities;
  }

  /** How long calls have been in flight without any answer; 0 while no call is in flight. */
  get silentForMs(): number {
    return this.inFlightCount === 0 ? 0 : this.#options.monotonicMs() - this.#quietSinceMs;
  }

  /** Whether its capabilities were found out so long ago that they may have changed. */
  get isOutdated(): boolean {
    return this.#options.monotonicMs() - this.#learnedMs > this.#believedMs;
  }

  get health(): EndpointHealth {
    const method = this.#capabilities?.method;
    const reason = this.#lastFailure;
    const isSound = this.#breaker.state === 'closed' && method !== undefined;
    if (!isSound && reason === undefined) return { state: 'starting', reason, method };
    if (!isSound && reason === 'wrong-chain') return { state: 'wrong-chain', reason, method };
    if (!isSound && reason !== 'rate-limited') return { state: 'down', reason, method };
    if (!isSound || this.#options.monotonicMs() < this.#rateLimitedUntilMs)
      return { state: 'rate-limited', reason: 'rate-limited', method };
    return { state: 'up', reason: undefined, method };
  }

  /** Remembers the failure as the reason for its health. */
  noteFailure(kind: FailureKind): void {
    if (NO_REASONS.has(kind)) return;
    this.#lastFailure = kind;
    if (kind === 'rate-limited') this.#rateLimitedUntilMs = this.#options.monotonicMs() + RATE_LIMITED_MS;
  }

  get gauges(): EndpointGauges {
    return {
      breaker: this.#breaker.state,
      health: this.health,
      headNumber: this.headNumber,
      inFlightCount: this.inFlightCount,
      readsPerCallMax: this.limit.current,
    };
  }

  learn(capabilities: Capabilities): void {
    const isSame = this.#capabilities !== undefined && isAlike(this.#capabilities, capabilities);
    this.#believedMs = isSame ? Math.min(2 * this.#believedMs, BELIEVED_MS_MAX) : BELIEVED_MS_MIN;
    this.#capabilities = capabilities;
    this.#learnedMs = this.#options.monotonicMs();
  }

  /** Whether a block may exist by now. */
  mayHave({ timestamp }: { readonly timestamp: number }): boolean {
    const { blockTimestampMsMax } = this.#options;
    return blockTimestampMsMax === undefined || timestamp * 1_000 <= blockTimestampMsMax();
  }

  /** After how many ms the rate limit and the endpoint's `Retry-After` permit a call. */
  get waitMs(): number {
    return Math.max(this.#busyUntilMs - this.#options.monotonicMs(), this.#bucket?.waitMs ?? 0, 0);
  }

  /** Whether a call would be sent now: its breaker admits it and no `Retry-After` is pending. */
  get isUsable(): boolean {
    return this.#breaker.isAdmitting && this.#options.monotonicMs() >= this.#busyUntilMs;
  }

  /**
   * Makes one call of the service's own choosing, subject to circuit breaker and rate limit, and
   * measures it: its outcome is evidence about the endpoint. `send` also validates the answer's
   * content, so that a well-formed but wrong answer counts against the endpoint.
   *
   * @param strikesOf strikes that a failure adds; default: the strikes of its kind
   * @throws RpcFailure
   */
  async use<T>(
    signal: AbortSignal,
    send: (rpc: Rpc) => Promise<T>,
    kind: CallKind = 'head',
    strikesOf = (failure: RpcFailure): number => failure.strikes,
  ): Promise<T> {
    return this.#admit(signal, send, kind, (failure, admission) => {
      this.noteFailure(failure.kind);
      this.strike(kind, strikesOf(failure), admission);
      if (failure.kind === 'override-refused') this.#capabilities = undefined;
      this.#backOff(failure);
    });
  }

  /**
   * Makes one call whose failure a client can choose, by the block, tag, contract or calldata that
   * it names. So a failure, whatever its words, is no evidence about the endpoint: it adds no
   * strike and delays no other call. It makes the pool send a call of the service's own, whose
   * outcome counts.
   *
   * @throws RpcFailure
   */
  async useForClient<T>(
    signal: AbortSignal,
    send: (rpc: Rpc) => Promise<T>,
    kind: CallKind,
    isOfOne = false,
  ): Promise<T> {
    const onFailure = (failure: RpcFailure, admission: Admission) => {
      this.#breaker.record({ kind, strikes: 0 }, admission);
      if (!NO_REASONS.has(failure.kind)) this.#options.onDoubt?.(this, kind);
    };
    return this.#admit(signal, send, kind, onFailure, isOfOne);
  }

  /** Makes one call that the breaker admits, when the rate limit permits it. @throws RpcFailure */
  async #admit<T>(
    signal: AbortSignal,
    send: (rpc: Rpc) => Promise<T>,
    kind: CallKind,
    onFailure: (failure: RpcFailure, admission: Admission) => void,
    isOfOne = false,
  ): Promise<T> {
    this.#requireFree();
    const admission = this.#breaker.admit();
    if (!admission) throw new RpcFailure('breaker-open');
    try {
      await this.#awaitRate(signal, isOfOne);
      return await this.#measure(send, kind, admission);
    } catch (error) {
      const failure = toRpcFailure(error);
      onFailure(failure, admission);
      throw failure;
    }
  }

  /**
   * Makes one call that says nothing about reading balances, such as reading logs: it obeys the
   * breaker and the rate limit and is counted, but neither closes nor opens the breaker, and its
   * duration is not a latency of reads.
   *
   * @throws RpcFailure
   */
  async useAside<T>(signal: AbortSignal, send: (rpc: Rpc) => Promise<T>): Promise<T> {
    this.#requireFree();
    if (this.#breaker.state !== 'closed') throw new RpcFailure('breaker-open');
    await this.#awaitRate(signal);
    try {
      return await this.#send(send);
    } catch (error) {
      const failure = toRpcFailure(error);
      this.#backOff(failure);
      throw failure;
    }
  }

  /** Counts a failure of a kind of call. An endpoint that is out must be probed again: its software
   * may have changed. */
  strike(kind: CallKind, strikes: number, admission?: Admission): void {
    this.#breaker.record({ kind, strikes }, admission);
    if (this.#breaker.state === 'open') this.#capabilities = undefined;
  }

  #measure<T>(send: (rpc: Rpc) => Promise<T>, kind: CallKind, admission: Admission): Promise<T> {
    if (this.inFlightCount === 0) this.#quietSinceMs = this.#options.monotonicMs();
    this.inFlightCount += 1;
    return this.#send(send, (result, durationMs) => {
      this.inFlightCount -= 1;
      // An abandoned call took at least this long: without it, the measured tail would be too
      // short.
      if (result === 'ok' || result === 'abandoned') this.latency.add(durationMs);
      if (result !== 'ok') return;
      this.#breaker.record({ kind }, admission);
      this.#quietSinceMs = this.#options.monotonicMs();
      this.answeredMs[kind] = this.#quietSinceMs;
    });
  }

  /** Makes a call and counts it. */
  async #send<T>(
    send: (rpc: Rpc) => Promise<T>,
    onEnd?: (result: 'ok' | FailureKind, durationMs: number) => void,
  ): Promise<T> {
    const startedMs = this.#options.monotonicMs();
    let result: 'ok' | FailureKind = 'ok';
    try {
      return await send(this.#options.rpc);
    } catch (error) {
      result = toRpcFailure(error).kind;
      throw error;
    } finally {
      const durationMs = this.#options.monotonicMs() - startedMs;
      onEnd?.(result, durationMs);
      this.#options.onCall?.(result, durationMs);
    }
  }

  /** @throws RpcFailure while the endpoint's `Retry-After` is pending */
  #requireFree(): void {
    if (this.#options.monotonicMs() < this.#busyUntilMs) throw new RpcFailure('over-rate');
  }

  async #awaitRate(signal: AbortSignal, isOfOne = false): Promise<void> {
    let waitedMs = 0;
    const isAside = isOfOne || this.#options.rateOf !== undefined;
    for (const bucket of isAside ? [this.#ownBucket, this.#bucket] : [this.#bucket])
      for (let waitMs = bucket?.take() ?? 0; waitMs > 0; waitMs = bucket?.take() ?? 0) {
        waitedMs += waitMs;
        if (waitedMs > RATE_WAIT_MS_MAX) throw new RpcFailure('over-rate');
        await pause(waitMs, signal);
        if (signal.aborted) throw new RpcFailure('abandoned');
      }
  }

  #backOff({ kind, retryAfterMs = 0 }: RpcFailure): void {
    if (kind === 'rate-limited') this.#bucket?.backOff();
    this.#busyUntilMs = Math.max(this.#busyUntilMs, this.#options.monotonicMs() + retryAfterMs);
  }
}

/** Whether a probe has found the same as before, perhaps at another block. */
const isAlike = (one: Capabilities, other: Capabilities): boolean =>
  isDeepStrictEqual({ ...one, fromBlock: 0 }, { ...other, fromBlock: 0 });
