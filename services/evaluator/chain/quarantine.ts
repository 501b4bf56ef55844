import { LRUCache } from 'lru-cache';

/** A contract that burned its gas is read apart from all others for so long. */
const QUARANTINE_MS = 600_000;
/** Contracts remembered at a time; the one not seen for longest is forgotten first. */
const CONTRACTS_MAX = 10_000;

/** Contracts that used up even the large stipend: they are read apart and with the small one. */
export class Quarantine {
  readonly #contracts: LRUCache<string, true>;

  /** @param nowMs a clock that never goes back */
  constructor(nowMs: () => number) {
    this.#contracts = new LRUCache({ max: CONTRACTS_MAX, ttl: QUARANTINE_MS, perf: { now: nowMs } });
  }

  get size(): number {
    return this.#contracts.size;
  }

  add(contract: string): void {
    this.#contracts.set(contract, true);
  }

  has(contract: string): boolean {
    return this.#contracts.has(contract);
  }
}
