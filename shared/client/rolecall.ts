import { CHAINS_PATH, CHECK_PATH, NONCES_PATH, RESPONSES_PATH, RULE_SETS_PATH } from '../contracts/paths.ts';
import type {
  Acknowledgement,
  BatchLine,
  BatchRequest,
  ChainList,
  CheckRequest,
  CheckResult,
  Nonce,
  RuleSet,
  RuleSetBody,
} from './api-types.ts';
import { type BatchLinesOptions, type BatchOptions, readLines, runBatch } from './batch.ts';
import { type Deliveries, makeDeliveries } from './deliveries.ts';
import { type Documents, makeDocuments } from './documents.ts';
import { RolecallError } from './http/rolecall-error.ts';
import { sleep } from './http/timing.ts';
import {
  type ApiResponse,
  type CallOptions,
  makeTransport,
  parseAnswer,
  type RolecallOptions,
  type Transport,
  unexpectedAnswer,
} from './http/transport.ts';
import { makeWatches, type Watches } from './watches.ts';

type Without<Request, Names extends PropertyKey> = Request extends unknown ? Omit<Request, Names> : never;

/** A check that is answered at once. */
export type SyncCheck = Without<CheckRequest, 'async' | 'callbackUrl'>;
/** A check whose result is polled, or sent to `callbackUrl` too. */
export type AsyncCheck = Without<CheckRequest, 'async'>;

/** The longest wait that the gateway allows; a call asks for less when its own timeout ends
 * before. */
const LONG_POLL_SECONDS = 20;
/** How long an answer may take beyond its long poll. */
const POLL_MARGIN_MS = 5_000;
/** Bounds the polls of one call; the call's time ends it long before. */
const POLLS_MAX = 100_000;

/**
 * A client app's access to Rolecall. One object serves any number of calls at once.
 *
 * @example
 * const rolecall = new Rolecall({ baseUrl: 'https://api.example', apiKey: process.env.ROLECALL_API_KEY });
 * const { roles, errors } = await rolecall.check({ account, rules });
 */
export class Rolecall {
  readonly #transport: Transport;
  /** Stored lists of rules, to be named by `ruleSet` in checks, batches and watches. */
  readonly ruleSets: Documents<RuleSetBody, RuleSet>;
  /** Lists of members whose changes of roles are sent to `callbackUrl`. */
  readonly watches: Watches;
  /** The webhooks of this client app, and their attempts. */
  readonly deliveries: Deliveries;

  /** @throws RolecallError `config-invalid` */
  constructor(options: RolecallOptions) {
    this.#transport = makeTransport(options);
    this.ruleSets = makeDocuments(this.#transport, RULE_SETS_PATH, 'ruleSets');
    this.watches = makeWatches(this.#transport);
    this.deliveries = makeDeliveries(this.#transport);
  }

  /**
   * Checks at once. A rule that could not be read is in `errors`, not in `roles`: it is no "no".
   *
   * @throws RolecallError with the problem's `code`, or one of the library
   */
  async check(request: SyncCheck, options: CallOptions = {}): Promise<CheckResult> {
    const endsAt = performance.now() + (options.timeoutMs ?? this.#transport.timeoutMs);
    try {
      return parseResult(await this.#post(request, options));
    } catch (error) {
      // The gateway gave up waiting; the check itself continues.
      if (!(error instanceof RolecallError) || error.code !== 'deadline-exceeded' || !error.requestId)
        throw error;
      return this.wait(error.requestId, { ...options, timeoutMs: Math.max(1, endsAt - performance.now()) });
    }
  }

  /**
   * A nonce for a sign-in message: valid for 10 minutes, for this client app, until a check uses it.
   *
   * @example
   * const { nonce } = await rolecall.nonce();
   * const message = signInMessage({ domain, address, uri, chainId: 1, nonce });
   */
  nonce(options: CallOptions = {}): Promise<Nonce> {
    const request = { method: 'POST', path: NONCES_PATH, body: {}, ...options } as const;
    return this.#transport.ask<Nonce>(request, { nonce: 'string', expiresAt: 'string' });
  }

  /** Starts a check and returns once it is accepted; `wait` has its result, and `callbackUrl` gets
   * it too. */
  async start(request: AsyncCheck, options: CallOptions = {}): Promise<Acknowledgement> {
    const response = await this.#post({ ...request, async: true }, options);
    return parseAnswer<Acknowledgement>(response, { requestId: 'string' });
  }

  /**
   * Waits for the result of a check by long polls.
   *
   * @throws RolecallError `timeout` if it is still pending then; the check continues
   */
  async wait(requestId: string, options: CallOptions = {}): Promise<CheckResult> {
    const endsAt = performance.now() + (options.timeoutMs ?? this.#transport.timeoutMs);
    for (let polls = 0; polls < POLLS_MAX; polls++) {
      const leftMs = endsAt - performance.now();
      if (leftMs <= 0) break;
      const beganAt = performance.now();
      const response = await this.#poll(requestId, leftMs, options.signal);
      if (response === undefined) break;
      if (response.status !== 202) return parseResult(response);
      // A gateway with too many long polls answers at once.
      const pauseMs = 1_000 - (performance.now() - beganAt);
      if (pauseMs > 0)
        await sleep(Math.min(pauseMs, Math.max(1, endsAt - performance.now())), options.signal);
    }
    throw new RolecallError('timeout', `Check ${requestId} is still pending: call wait again.`, {
      requestId,
    });
  }

  /** One long poll; `undefined` if the time is over. */
  async #poll(
    requestId: string,
    leftMs: number,
    signal: AbortSignal | undefined,
  ): Promise<ApiResponse | undefined> {
    const waitSeconds = Math.min(LONG_POLL_SECONDS, Math.max(0, Math.floor(leftMs / 1_000) - 1));
    try {
      return await this.#transport.send({
        method: 'GET',
        path: RESPONSES_PATH + encodeURIComponent(requestId),
        headers: { prefer: `wait=${waitSeconds}` },
        signal,
        timeoutMs: leftMs,
        attemptMs: waitSeconds * 1_000 + POLL_MARGIN_MS,
      });
    } catch (error) {
      if (error instanceof RolecallError && error.code === 'timeout') return undefined;
      throw error;
    }
  }

  /**
   * Checks many wallets in one request: starts the batch, and yields a line per entry, in the order
   * of the entries, while the rest is still being checked. With `watch` instead of `entries`, the
   * members of the watch are checked, and each line has their last verdicts as `before`.
   *
   * @example
   * for await (const { ref, roles } of rolecall.batch({ entries, ruleSet: 'holders' })) console.log(ref, roles);
   * for await (const { ref, before, roles } of rolecall.batch({ watch: 'members', rules })) console.log(ref, before, roles);
   */
  batch(request: BatchRequest, options: BatchOptions = {}): AsyncGenerator<BatchLine, void> {
    return runBatch(this.#transport, request, options);
  }

  /** The lines of a batch that was started before, also by another process. */
  batchLines(requestId: string, options: BatchLinesOptions = {}): AsyncGenerator<BatchLine, void> {
    return readLines(this.#transport, requestId, options);
  }

  /** The chains that a rule may name, and whether each can be read. */
  async chains(options: CallOptions = {}): Promise<ChainList['chains']> {
    const request = { method: 'GET', path: CHAINS_PATH, ...options } as const;
    return (await this.#transport.ask<ChainList>(request, { chains: 'list' })).chains;
  }

  #post(body: object, options: CallOptions): Promise<ApiResponse> {
    const headers = { 'idempotency-key': crypto.randomUUID() };
    return this.#transport.send({ method: 'POST', path: CHECK_PATH, body, headers, ...options });
  }
}

/** An answer that is not a result must not look like a result that grants nothing. */
function parseResult(response: ApiResponse): CheckResult {
  const members = { requestId: 'string', roles: 'list', errors: 'list' } as const;
  const result = parseAnswer<CheckResult>(response, members);
  const isResult =
    (result.status === 'completed' || result.status === 'failed') &&
    result.roles.every((role) => typeof role?.id === 'string' && typeof role.granted === 'boolean');
  if (!isResult) throw unexpectedAnswer('The answer is not the result of a check.');
  return result;
}
