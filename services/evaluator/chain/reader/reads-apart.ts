import { LRUCache } from 'lru-cache';

/** Isolated reads that one client app may start in a window. */
const READS_PER_WINDOW = 4;
const WINDOW_MS = 1_000;
/** Client apps tracked at a time; an evicted client app begins a new window. */
const CLIENTS_MAX = 10_000;

/**
 * Limits how often a client app's reads are repeated in a call of their own: 4 a second per chain,
 * and 4 more may wait for the next second. One instance counts reads that are isolated, another one
 * calls for many reads of one contract. Without this limit one client's expensive reads could keep
 * a chain's endpoints busy for all clients.
 *
 * @example
 * slots.take('app_1'); // 0: now; 730: in 730 ms; undefined: too many reads already wait
 */
export class IsolatedReadSlots {
  readonly #startsByClient = new LRUCache<string, number[]>({ max: CLIENTS_MAX });
  readonly #poolSize: () => number;
  readonly #monotonicMs: () => number;

  /** @param poolSize number of evaluators that share the limit */
  constructor(poolSize: () => number, monotonicMs = () => performance.now()) {
    this.#poolSize = poolSize;
    this.#monotonicMs = monotonicMs;
  }

  /**
   * Returns after how many ms the read may start; `undefined`: it may not, and no slot was taken.
   *
   * @param windowsMax how many windows it may wait
   */
  take(clientId: string, windowsMax = 1): number | undefined {
    const nowMs = this.#monotonicMs();
    const windowMs = WINDOW_MS * this.#poolSize();
    const starts = this.#startsByClient.get(clientId) ?? [];
    const first = starts.length < READS_PER_WINDOW ? undefined : starts[0];
    const startMs = Math.max(nowMs, first === undefined ? nowMs : first + windowMs);
    if (startMs - nowMs > windowsMax * windowMs) return undefined;
    this.#startsByClient.set(clientId, [...starts, startMs].slice(-READS_PER_WINDOW));
    return startMs - nowMs;
  }
}

/** How long it is remembered that a client app's reads of a contract needed more gas than a shared
 * call gives. */
export const COSTLY_MS = 600_000;
/**
 * How long a read that used up even the large stipend is isolated; it gets the small one. Never a
 * whole contract, because another id of it may cost little.
 */
export const QUARANTINE_MS = 600_000;
/** How long it is remembered how many reads of a callee an endpoint answers in a call, where calls
 * have no stipend: each of them may cost all the gas that the endpoint gives. */
const CALLEE_MS = 20_000;
/** Names remembered at a time; the least recently used is evicted first. */
const NAMES_MAX = 10_000;

/** Names that are remembered for some time. */
export class RememberedNames {
  readonly #names: LRUCache<string, true>;

  constructor(ttlMs: number) {
    this.#names = new LRUCache({ max: NAMES_MAX, ttl: ttlMs });
  }

  get size(): number {
    return this.#names.size;
  }

  add(name: string): void {
    this.#names.set(name, true);
  }

  has(name: string): boolean {
    return this.#names.size > 0 && this.#names.has(name);
  }

  delete(name: string): void {
    this.#names.delete(name);
  }
}

/** How many reads of a callee may share a call, apart from others. 0: each is isolated; without a
 * limit they are read together with others. */
export type CalleeLimits = {
  readonly get: (callee: string) => number | undefined;
  readonly set: (callee: string, readsMax: number) => void;
  readonly delete: (callee: string) => void;
};

/** Makes the limits of callees at each endpoint. */
export function makeCalleeLimits(): (endpointName: string) => CalleeLimits {
  const limits = new LRUCache<string, number>({ max: NAMES_MAX, ttl: CALLEE_MS });
  return (endpointName) => {
    const nameOf = (callee: string) => `${endpointName}/${callee}`;
    return {
      get: (callee) => (limits.size === 0 ? undefined : limits.get(nameOf(callee))),
      set: (callee, readsMax) => void limits.set(nameOf(callee), readsMax),
      delete: (callee) => void limits.delete(nameOf(callee)),
    };
  };
}
