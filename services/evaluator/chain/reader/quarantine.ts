import { LRUCache } from 'lru-cache';
import type { Read } from '../../domain/read.ts';

/** A read that used up its gas is made apart from all others for so long. */
const QUARANTINE_MS = 600_000;
/** Reads remembered at a time; the one not seen for longest is forgotten first. */
const READS_MAX = 10_000;

/**
 * Reads that used up even the large stipend: they are made apart, and with the small one. Never the contract as a
 * whole: another id of it may cost little.
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

  has({ key }: Read): boolean {
    return this.#reads.has(key);
  }

  delete({ key }: Read): void {
    this.#reads.delete(key);
  }
}
