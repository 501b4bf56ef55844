import { TickShare } from '../tick-share.ts';
import { FairQueue } from './fair-queue.ts';
import { accountOf, type Owner } from './fair-shares.ts';

type Options = {
  /** How long waiting work may continue in one tick of the event loop. */
  readonly msPerTick: number;
  /** Work of a lower rank goes before all of a higher one. Default: one rank. */
  readonly rankCount?: number;
  readonly monotonicMs?: () => number;
};

/** The longest wait of an account. A turn that took longer did not work for so long: the process was
 * stopped meanwhile. */
const PAUSE_MS_MAX = 500;

/**
 * Work that could continue all at once, a few milliseconds of it in each tick of the event loop, by
 * turns of accounts, then of apps: so an account whose thousands of requests arrive, or end, at
 * the same instant delays another one by a turn.
 *
 * A turn lasts until all work that can follow without I/O has ended. If that took longer than the
 * share of a tick, the account waits for its next turn as long as it was too long: its long turns
 * take at most half of the event loop, and all else in the process runs in between.
 *
 * @example
 * const ticks = new FairTicks({ msPerTick: 4 });
 * await ticks.turn(app);
 */
export class FairTicks {
  readonly #msPerTick: number;
  readonly #monotonicMs: () => number;
  readonly #share: TickShare;
  /** By rank. */
  readonly #waiting: readonly FairQueue<() => void>[];
  /** By account, until when it waits because a turn was too long. */
  readonly #pausedUntilMs = new Map<string, number>();
  #isContinuing = false;
  /** While all that waits is paused. */
  #wakeUp: NodeJS.Timeout | undefined;

  constructor({ msPerTick, rankCount = 1, monotonicMs = () => performance.now() }: Options) {
    this.#msPerTick = msPerTick;
    this.#monotonicMs = monotonicMs;
    this.#share = new TickShare(msPerTick, monotonicMs);
    this.#waiting = Array.from({ length: rankCount }, () => new FairQueue());
  }

  /** Resolves in this tick, or beyond its share in one of the next. */
  turn(owner: Owner, rank = 0): Promise<void> {
    return new Promise((resolve) => {
      const start = (): void => {
        resolve();
        const beganMs = this.#monotonicMs();
        // Behind all microtasks, in which that work continues. What an immediate leaves to the next tick
        // itself would come before them.
        queueMicrotask(() => process.nextTick(() => this.#end(owner, beganMs)));
      };
      (this.#waiting[rank] as FairQueue<() => void>).push(owner, start);
      this.#continueSoon();
    });
  }

  #continueSoon(): void {
    if (!this.#isContinuing) queueMicrotask(this.#continueNext);
    this.#isContinuing = true;
  }

  readonly #continueNext = (): void => {
    if (!this.#share.hasTime()) return void setImmediate(this.#continueNext);
    const nowMs = this.#monotonicMs();
    for (const [account, untilMs] of this.#pausedUntilMs)
      if (untilMs <= nowMs) this.#pausedUntilMs.delete(account);
    for (const queue of this.#waiting) {
      const start = queue.take((_, owner) => !this.#pausedUntilMs.has(accountOf(owner)));
      if (start !== undefined) return void start();
    }
    this.#isContinuing = false;
    if (this.#wakeUp !== undefined || this.#waiting.every(({ size }) => size === 0)) return;
    const pauseMs = Math.min(...this.#pausedUntilMs.values()) - nowMs;
    this.#wakeUp = setTimeout(() => {
      this.#wakeUp = undefined;
      this.#continueSoon();
    }, pauseMs);
  };

  #end(owner: Owner, beganMs: number): void {
    const nowMs = this.#monotonicMs();
    const tooLongMs = Math.min(nowMs - beganMs - this.#msPerTick, PAUSE_MS_MAX);
    if (tooLongMs > 0) this.#pausedUntilMs.set(accountOf(owner), nowMs + tooLongMs);
    queueMicrotask(this.#continueNext);
  }
}

/** Nothing, or the wait for the next turn: for long work that can be interrupted. */
export type GiveWay = () => Promise<void> | undefined;

/** How long such work goes on before another owner has its turn. */
const SLICE_MS = 0.25;

/** @param turn resolves when the work has its turn */
export function makeGiveWay(turn: () => Promise<void>): GiveWay {
  let sliceEndMs = Number.NEGATIVE_INFINITY;
  const begin = (): void => {
    sliceEndMs = performance.now() + SLICE_MS;
  };
  return () => (performance.now() < sliceEndMs ? undefined : turn().then(begin));
}
