import { pause } from '#shared/wait-for.ts';

/** A node that does not have a block this long after the block was first seen lacks it for another
 * reason. */
export const NOT_YET_MS = 4_000;
/** How fast the lag grows with a call that came too early, and shrinks with one that was
 * answered. */
const GROWTH = 1.25;
const GROWTH_MS = 50;
const DECAY = 0.98;
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

  /** A call at a block of this age found that the endpoint did not have it yet. */
  late(ageMs: number): void {
    this.#ms = Math.min(this.#msMax, Math.max(this.#ms, ageMs) * GROWTH + GROWTH_MS);
  }

  /** A call at a block of this age was answered; only one that came as early as the lag allows
   * shows that less may do. */
  ready(ageMs: number): void {
    if (this.#ms === 0 || ageMs > 1.5 * this.#ms) return;
    this.#ms = this.#ms * DECAY < LAG_MS_MIN ? 0 : this.#ms * DECAY;
  }
}
