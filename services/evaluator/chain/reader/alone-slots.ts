import { LRUCache } from 'lru-cache';

/** Reads of one client app that are read alone in a window. */
const READS_PER_WINDOW = 4;
const WINDOW_MS = 1_000;
/** Client apps remembered at a time; one that is forgotten begins a new window. */
const CLIENTS_MAX = 10_000;

/**
 * When a read of a client app may be read again alone with more gas: 4 a second per chain, and as many wait for the
 * second after. Without the bound one client's expensive reads would keep the chain's endpoints busy for everybody.
 *
 * @example
 * slots.take('app_1'); // 0: now; 730: in so many ms; undefined: too many wait already
 */
export class AloneSlots {
  readonly #startsByClient = new LRUCache<string, number[]>({ max: CLIENTS_MAX });
  readonly #poolSize: () => number;
  readonly #nowMs: () => number;

  /**
   * @param poolSize evaluators that share the bound
   * @param nowMs a clock that never goes back
   */
  constructor(poolSize: () => number, nowMs: () => number) {
    this.#poolSize = poolSize;
    this.#nowMs = nowMs;
  }

  /** After how many ms the read may go out; `undefined`: it may not, and nothing was taken. */
  take(clientId: string): number | undefined {
    const nowMs = this.#nowMs();
    const windowMs = WINDOW_MS * this.#poolSize();
    const starts = this.#startsByClient.get(clientId) ?? [];
    const first = starts.length < READS_PER_WINDOW ? undefined : starts[0];
    const startMs = Math.max(nowMs, first === undefined ? nowMs : first + windowMs);
    if (startMs - nowMs > windowMs) return undefined;
    this.#startsByClient.set(clientId, [...starts, startMs].slice(-READS_PER_WINDOW));
    return startMs - nowMs;
  }
}
