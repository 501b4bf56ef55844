import { LRUCache } from 'lru-cache';
import type { Read } from '../../domain/read.ts';

/** How long a read that used up its gas is isolated from other reads. */
const QUARANTINE_MS = 600_000;
/** Reads remembered at a time; the least recently used is evicted first. */
const READS_MAX = 10_000;

/**
 * Reads that used up even the large stipend: they are isolated, and get the small stipend. The quarantine never covers a
 * whole contract, because another id of it may cost little.
 */
export class Quarantine {
  readonly #reads: LRUCache<string, true>;

  /** @param monotonicMs monotonic clock */
  constructor(monotonicMs: () => number) {
    this.#reads = new LRUCache({ max: READS_MAX, ttl: QUARANTINE_MS, perf: { now: monotonicMs } });
  }

  get size(): number {
    return this.#reads.size;
  }

  add({ key }: Read): void {
    this.#reads.set(key, true);
  }

  has(read: Read): boolean {
    return this.#reads.size > 0 && this.#reads.has(read.key);
  }

  delete({ key }: Read): void {
    this.#reads.delete(key);
  }
}

/** How long a contract that failed a call of many is read alone. */
const HEAVY_MS = 20_000;
const CONTRACTS_MAX = 10_000;

/**
 * Contracts whose calls time out or return too much, by endpoint: where calls have no stipend, each of them costs all the
 * gas that the endpoint gives. Their reads are isolated, so that only their first call fails together with others.
 */
export class HeavyContracts {
  readonly #contracts: LRUCache<string, true>;

  /** @param monotonicMs monotonic clock */
  constructor(monotonicMs: () => number) {
    this.#contracts = new LRUCache({ max: CONTRACTS_MAX, ttl: HEAVY_MS, perf: { now: monotonicMs } });
  }

  of(endpointName: string): { add(contract: string): void; has(contract: string): boolean } {
    const keyOf = (contract: string) => `${endpointName}/${contract}`;
    return {
      add: (contract) => void this.#contracts.set(keyOf(contract), true),
      has: (contract) => this.#contracts.size > 0 && this.#contracts.has(keyOf(contract)),
    };
  }
}
