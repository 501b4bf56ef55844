import { LRUCache } from 'lru-cache';

/** How long it is remembered that a contract needed more gas. */
const TTL_MS = 600_000;
/** Contracts remembered at a time; the least recently used is evicted first. */
const CONTRACTS_MAX = 10_000;

/**
 * Contracts whose reads needed more gas than a shared call gives, for each client app: what one client reads of a contract
 * does not change how others read it.
 */
export class CostlyContracts {
  readonly #contracts: LRUCache<string, true>;

  /** @param monotonicMs monotonic clock */
  constructor(monotonicMs: () => number) {
    this.#contracts = new LRUCache({ max: CONTRACTS_MAX, ttl: TTL_MS, perf: { now: monotonicMs } });
  }

  add(clientId: string, contract: string): void {
    this.#contracts.set(`${clientId}/${contract}`, true);
  }

  has(clientId: string, contract: string): boolean {
    return this.#contracts.size > 0 && this.#contracts.has(`${clientId}/${contract}`);
  }
}
