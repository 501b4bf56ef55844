import { TickShare } from '../tick-share.ts';
import { FairQueue } from './fair-queue.ts';
import type { Owner } from './fair-shares.ts';

type Options = {
  /** How long waiting work may continue in one tick of the event loop. */
  readonly msPerTick: number;
  /** Work of a lower rank goes before all of a higher one. Default: one rank. */
  readonly rankCount?: number;
  readonly monotonicMs?: () => number;
};

/**
 * Work that could continue all at once, a few milliseconds of it in each tick of the event loop, by
 * turns of accounts, then of apps: so an account whose thousands of requests arrive, or end, at
 * the same instant delays another one by a turn.
 */
export class FairTicks {
  readonly #share: TickShare;
  /** By rank. */
  readonly #waiting: readonly FairQueue<() => void>[];
  #isContinuing = false;

  constructor({ msPerTick, rankCount = 1, monotonicMs }: Options) {
    this.#share = new TickShare(msPerTick, monotonicMs);
    this.#waiting = Array.from({ length: rankCount }, () => new FairQueue());
  }

  /** Resolves in this tick, or beyond its share in one of the next. */
  turn(owner: Owner, rank = 0): Promise<void> {
    return new Promise((resolve) => {
      (this.#waiting[rank] as FairQueue<() => void>).push(owner, resolve);
      if (!this.#isContinuing) queueMicrotask(this.#continueNext);
      this.#isContinuing = true;
    });
  }

  readonly #continueNext = (): void => {
    if (!this.#share.hasTime()) return void setImmediate(this.#continueNext);
    const next = this.#waiting.find(({ size }) => size > 0)?.take();
    this.#isContinuing = next !== undefined;
    if (next === undefined) return;
    next();
    // Behind the microtask in which that work continues, which takes its time.
    queueMicrotask(this.#continueNext);
  };
}
