import { pause } from '#shared/wait-for.ts';

/** A node that does not have a block this long after the block was first seen lacks it for another
 * reason. */
export const NOT_YET_MS = 4_000;
/** How much the lag grows with a call that came too early. */
const GROWTH = 1.25;
const GROWTH_MS = 50;
/** By which part it shrinks with the first block that is answered after that, and with each further
 * one by so many times as much, up to the maximum. So one hiccup is forgotten after some 20 blocks,
 * and an endpoint that is always late is asked too early at one block in eight. */
const SHRINK = { first: 0.01, growth: 1.3, max: 0.5 } as const;
/** A shorter lag is none. */
const LAG_MS_MIN = 10;

/**
 * How long after a head was first seen an endpoint answers calls at it, learned from calls that
 * came too early: behind one URL there may be nodes that get each block some seconds after the one
 * that announced it. A call that waits for so long is one call instead of several.
 */
export class CallLag {
  readonly #msMax: number;
  #ms = 0;
  #shrink: number = SHRINK.first;
  /** The last block that was answered: one block shows it once. */
  #lastHash = '';

  constructor(msMax = NOT_YET_MS) {
    this.#msMax = msMax;
  }

  get ms(): number {
    return this.#ms;
  }

  /** Waits until a call at a block of this age will be answered. */
  async wait(ageMs: number, signal: AbortSignal): Promise<void> {
    if (this.#ms > ageMs) await pause(this.#ms - ageMs, signal);
  }

  /** The endpoint did not have a block at this age, which it had later. */
  late(ageMs: number): void {
    this.#ms = Math.min(this.#msMax, Math.max(this.#ms, ageMs) * GROWTH + GROWTH_MS);
    this.#shrink = SHRINK.first;
  }

  /** A call at a block of this age was answered; only one that came as early as the lag allows
   * shows that less may do. */
  ready(ageMs: number, blockHash: string): void {
    if (this.#ms === 0 || ageMs > 1.5 * this.#ms || blockHash === this.#lastHash) return;
    this.#lastHash = blockHash;
    const ms = this.#ms * (1 - this.#shrink);
    this.#ms = ms < LAG_MS_MIN ? 0 : ms;
    this.#shrink = Math.min(this.#shrink * SHRINK.growth, SHRINK.max);
  }
}
