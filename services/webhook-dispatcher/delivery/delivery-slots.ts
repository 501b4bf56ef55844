import { webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { FairQueue } from '#shared/fairness/fair-queue.ts';
import { type AppOwner, FairShares } from '#shared/fairness/fair-shares.ts';
import { type Repetition, startRepeating } from '#shared/repeat.ts';
import { PerReceiver } from './per-receiver.ts';
import { makeReceiver, type Receiver } from './receiver.ts';

/** Attempts in flight in this process. */
export const SLOTS = 512;
/** Slots of its share that an app's receivers without a recent success leave to its others. */
const PROVEN_SLOTS = 16;
/** Attempts in flight to one origin; an account alone has 12 of them, a client app alone 8. */
export const ORIGIN_SLOTS = 32;
const RECEIVER_SLOTS = ORIGIN_SLOTS / 4;
/**
 * How many attempts an unproven receiver may have in flight, by how many all unproven receivers of
 * its client app have together: many that hang at once must leave slots for the app's other
 * receivers.
 */
const UNPROVEN_SHARES: readonly (readonly [unprovenOfAppMax: number, perReceiver: number])[] = [
  [16, RECEIVER_SLOTS],
  [32, 2],
  [Number.POSITIVE_INFINITY, 1],
];
/** Receivers that are looked at, one after the other, until one has room for an attempt. */
const LOOKS_MAX = 16;
/** A message waits in memory while its expected wait is at most this. */
const EXPECTED_WAIT_MS_MAX = 1_000;
/** A message that has waited this long is deferred, even if less was expected. */
const WAIT_MS_MAX = 2_000;
const WAITING_PER_RECEIVER_MAX = 4_096;
/** Bytes waiting in this process. */
export const WAITING_BYTES_MAX = 64 * 1024 * 1024;
const MESSAGE_BYTES_MAX = webhookRequested.messageBytesMax;
/** How often all waiting receivers are looked at. */
const SWEEP_INTERVAL_MS = 100;

export type Slot = {
  /** Frees the slot, once. `isHealthy`: the receiver took the message; `undefined`: it was not
   * reached. */
  readonly release: (isHealthy: boolean | undefined) => void;
};

type Waiter = {
  readonly bytes: number;
  readonly sinceMs: number;
  readonly settle: (slot: Slot | undefined) => void;
};
type Line = Receiver & { readonly waiters: Waiter[] };

/** What a client app has in flight and waiting; kept while that is anything. */
type Usage = {
  waitingCount: number;
  /** Receivers with attempts in flight. */
  readonly active: Set<Receiver>;
};

/**
 * Hands out the slots for attempts. A slow receiver delays only its own messages, and a client app
 * only its own receivers.
 *
 * Bounds: 512 in flight, 32 per origin; waiting 4 096 per receiver and 64 MiB in all, each about a
 * second. Slots, those at an origin, and bytes are shared by account, then by client app. Of an
 * app's share its unproven receivers leave 16 slots to the others. Slots that become free go to the
 * waiting accounts in turn, within each to its apps, and within an app to its receivers in turn. A
 * freed slot costs the same however many wait: a bounded number of them is looked at.
 *
 * @example
 * using slots = new DeliverySlots(() => performance.now());
 * const slot = await slots.acquire(app, origin, body.length);
 * slot?.release(true);
 */
export class DeliverySlots implements Disposable {
  readonly #monotonicMs: () => number;
  readonly #lines = new PerReceiver<Line>({
    make: (app, origin) => ({ ...makeReceiver(app, origin), waiters: [] }),
    isIdle: ({ inFlightCount, waiters }) => inFlightCount() === 0 && waiters.length === 0,
  });
  readonly #shares = new FairShares(SLOTS);
  /** Of the origins with attempts in flight. */
  readonly #originShares = new Map<string, FairShares>();
  readonly #waitingBytes = new FairShares(WAITING_BYTES_MAX, { place: MESSAGE_BYTES_MAX });
  /** By client app. */
  readonly #usage = new Map<string, Usage>();
  /** Receivers with waiting messages; a receiver whose turn is over is the last one of its app. */
  readonly #waiting = new FairQueue<Line>();
  readonly #sweeping: Repetition;
  #waitingCount = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#sweeping = startRepeating(() => this.sweep(), { intervalMs: SWEEP_INTERVAL_MS });
  }

  get inFlightCount(): number {
    return this.#shares.count;
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  /**
   * Resolves to a slot for an attempt, at once or within about 2 s, or to `undefined`: defer the
   * message.
   *
   * @param bytes size of the message while it waits
   */
  async acquire(app: AppOwner, origin: string, bytes: number): Promise<Slot | undefined> {
    const line = this.#lines.of(app, origin);
    const queuePosition = line.waiters.length + 1;
    if (queuePosition === 1 && this.#hasRoom(line)) return this.#take(line);
    if (!this.#mayWait(line, queuePosition, bytes)) return undefined;
    return new Promise((settle) => this.#enqueue(line, { bytes, sinceMs: this.#monotonicMs(), settle }));
  }

  /** How often a receiver that took the last message, and does not seem to hang, frees a slot;
   * `undefined` for any other. */
  msPerMessage(app: AppOwner, origin: string): number | undefined {
    const line = this.#lines.of(app, origin);
    return line.isTaking(this.#monotonicMs()) ? this.#expectedWaitMs(line, 1) : undefined;
  }

  /** Gives free slots to waiting messages and defers messages that would wait too long. Runs every
   * 100 ms. */
  sweep(): void {
    if (this.#waitingCount === 0) return;
    this.#serve();
    const nowMs = this.#monotonicMs();
    for (const line of this.#waitingLines()) {
      const { waiters } = line;
      this.#serveLine(line);
      while (this.#expectedWaitMs(line, waiters.length) > EXPECTED_WAIT_MS_MAX)
        this.#dequeue(line, waiters.pop())?.settle(undefined);
      while (waiters[0] !== undefined && nowMs - waiters[0].sinceMs > WAIT_MS_MAX)
        this.#dequeue(line, waiters.shift())?.settle(undefined);
    }
  }

  [Symbol.dispose](): void {
    this.#sweeping.stop();
    for (const line of this.#waitingLines())
      while (line.waiters.length > 0) this.#dequeue(line, line.waiters.pop())?.settle(undefined);
  }

  #hasRoom({ app, origin, isProven, inFlightCount }: Line): boolean {
    if (!this.#shares.hasRoom(app)) return false;
    if (this.#originShares.get(origin)?.hasRoom(app) === false) return false;
    if (isProven(this.#monotonicMs())) return true;
    const unprovenCount = this.#unprovenOf(app);
    const slots = UNPROVEN_SHARES.find(([max]) => unprovenCount < max)?.[1] ?? 0;
    return inFlightCount() < slots && this.#hasUnprovenRoom(app, unprovenCount);
  }

  /** Whether the app's unproven receivers may have one more attempt in flight. */
  #hasUnprovenRoom(app: AppOwner, unprovenCount: number): boolean {
    const inFlightCount = this.#shares.heldBy(app);
    const left = Math.max(0, PROVEN_SLOTS - (inFlightCount - unprovenCount));
    return inFlightCount === 0 || this.#shares.hasRoom(app, 1 + left);
  }

  /** Attempts in flight to the app's unproven receivers. */
  #unprovenOf({ clientId }: AppOwner): number {
    const nowMs = this.#monotonicMs();
    let count = 0;
    for (const receiver of this.#usage.get(clientId)?.active ?? [])
      if (!receiver.isProven(nowMs)) count += receiver.inFlightCount();
    return count;
  }

  /** Whether a message may wait in memory: there is room, and its turn is expected in time. */
  #mayWait(line: Line, queuePosition: number, bytes: number): boolean {
    const { app } = line;
    if (queuePosition > WAITING_PER_RECEIVER_MAX) return false;
    if (!this.#waitingBytes.hasRoom(app, bytes)) return false;
    if (this.#expectedWaitMs(line, queuePosition) > EXPECTED_WAIT_MS_MAX) return false;
    if (line.isProven(this.#monotonicMs()) || this.#hasUnprovenRoom(app, this.#unprovenOf(app))) return true;
    return this.#expectedTurnMs(app) <= EXPECTED_WAIT_MS_MAX;
  }

  #take(line: Line): Slot {
    const { app, origin } = line;
    const attempt = line.begin(this.#monotonicMs());
    const atOrigin = this.#originShares.get(origin) ?? new FairShares(ORIGIN_SLOTS);
    this.#originShares.set(origin, atOrigin);
    atOrigin.take(app);
    this.#shares.take(app);
    const usage = this.#usageOf(app);
    usage.active.add(line);
    let isFree = false;
    return {
      release: (isHealthy) => {
        if (isFree) return;
        isFree = true;
        line.end(attempt, isHealthy, this.#monotonicMs());
        if (line.inFlightCount() === 0) usage.active.delete(line);
        this.#shares.give(app);
        atOrigin.give(app);
        if (atOrigin.count === 0) this.#originShares.delete(origin);
        if (!this.#serve()) this.#serveLine(line);
        this.#forgetIfIdle(app);
      },
    };
  }

  #enqueue(line: Line, waiter: Waiter): void {
    if (line.waiters.push(waiter) === 1) this.#waiting.push(line.app, line);
    this.#waitingCount += 1;
    this.#usageOf(line.app).waitingCount += 1;
    this.#waitingBytes.take(line.app, waiter.bytes);
  }

  #dequeue(line: Line, waiter: Waiter | undefined): Waiter | undefined {
    if (waiter === undefined) return undefined;
    if (line.waiters.length === 0) this.#waiting.remove(line.app, line);
    this.#waitingCount -= 1;
    this.#usageOf(line.app).waitingCount -= 1;
    this.#waitingBytes.give(line.app, waiter.bytes);
    this.#forgetIfIdle(line.app);
    return waiter;
  }

  /** Gives slots to the waiting receivers whose turn it is, until a number of them has no room.
   * Returns whether it gave any. */
  #serve(): boolean {
    let isServed = false;
    for (let misses = 0; misses < Math.min(LOOKS_MAX, this.#waiting.size); misses += 1) {
      const line = this.#shares.count < SLOTS ? this.#waiting.take() : undefined;
      if (line === undefined) break;
      if (this.#serveLine(line)) {
        isServed = true;
        misses = -1;
      }
      if (line.waiters.length > 0) this.#waiting.push(line.app, line);
    }
    return isServed;
  }

  /** Gives a slot to the first message of a receiver if it has room for an attempt. */
  #serveLine(line: Line): boolean {
    if (line.waiters.length === 0 || !this.#hasRoom(line)) return false;
    const slot = this.#take(line);
    this.#dequeue(line, line.waiters.shift())?.settle(slot);
    return true;
  }

  #expectedWaitMs(receiver: Receiver, queuePosition: number): number {
    return (queuePosition * receiver.expectedDurationMs(this.#monotonicMs())) / RECEIVER_SLOTS;
  }

  /** The expected wait behind the client app's earlier messages to unproven receivers. */
  #expectedTurnMs(app: AppOwner): number {
    const nowMs = this.#monotonicMs();
    const { active, waitingCount } = this.#usageOf(app);
    let endingPerMs = 0;
    for (const receiver of active)
      if (!receiver.isProven(nowMs))
        endingPerMs += receiver.inFlightCount() / receiver.expectedDurationMs(nowMs);
    return (waitingCount + 1) / endingPerMs;
  }

  #usageOf({ clientId }: AppOwner): Usage {
    const usage = this.#usage.get(clientId) ?? { waitingCount: 0, active: new Set() };
    this.#usage.set(clientId, usage);
    return usage;
  }

  #forgetIfIdle({ clientId }: AppOwner): void {
    const usage = this.#usage.get(clientId);
    if (usage?.waitingCount === 0 && usage.active.size === 0) this.#usage.delete(clientId);
  }

  /** Those of now: they change while they are served. */
  #waitingLines(): Line[] {
    return [...this.#waiting.queues()].flatMap(([, lines]) => lines);
  }
}
