import { type Repetition, startRepeating } from '#shared/repeat.ts';
import { PerReceiver } from './per-receiver.ts';
import { makeReceiver, RECEIVER_SLOTS, type Receiver } from './receiver.ts';
import { countUnproven, hasUnprovenRoom, isShareUsed, type Unproven } from './unproven-share.ts';

/** Attempts in flight in this process. */
const SLOTS = 256;
/** One client app may hold this many times as many as are free: alone 192, two 109 each. */
const SLOTS_PER_FREE_SLOT = 3;
/** Attempts in flight to one origin, for all client apps together. */
export const ORIGIN_SLOTS = 16;
/** A message waits in memory while its expected wait is at most this. */
const EXPECTED_WAIT_MS_MAX = 1_000;
/** A message that has waited this long is deferred, even if less was expected. */
const WAIT_MS_MAX = 2_000;
const WAITING_PER_RECEIVER_MAX = 4_096;
/** Bytes waiting in this process; one client app may hold as many as are free. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
/** How often the expected waits are checked again. */
const SWEEP_INTERVAL_MS = 100;

export type Slot = {
  /** Frees the slot, once. `isHealthy`: the receiver took the message; `undefined`: it was not reached. */
  readonly release: (isHealthy: boolean | undefined) => void;
};

type Waiter = {
  readonly bytes: number;
  readonly sinceMs: number;
  readonly settle: (slot: Slot | undefined) => void;
};
type Queue = { readonly receiver: Receiver; readonly waiters: Waiter[] };

/** A client app with attempts in flight or waiting messages. */
type App = {
  readonly clientId: string;
  inFlightCount: number;
  waitingCount: number;
  waitingBytes: number;
  /** Receivers with waiting messages, by origin; the next to be served first. */
  readonly queues: Map<string, Queue>;
};

/**
 * Hands out the slots for attempts. A slow receiver delays only its own messages, and a client app only its own
 * receivers.
 *
 * Bounds: 256 in flight, 16 per origin, 8 per receiver; waiting 4 096 per receiver and 64 MiB in all, each
 * about a second. A client app may have as many attempts in flight at unproven receivers as are free of 192: one app alone 96,
 * two apps 64 each. Some are always free. Slots that become free go to the waiting client apps in turn, and within each
 * to its receivers in turn.
 *
 * @example
 * using slots = new DeliverySlots(() => performance.now());
 * const slot = await slots.acquire(clientId, origin, body.length);
 * slot?.release(true);
 */
export class DeliverySlots implements Disposable {
  readonly #monotonicMs: () => number;
  readonly #receivers = new PerReceiver({
    make: makeReceiver,
    isIdle: ({ clientId, origin, inFlightCount }: Receiver) =>
      inFlightCount() === 0 && this.#apps.get(clientId)?.queues.has(origin) !== true,
  });
  /** Receivers with attempts in flight: at most as many as there are slots. */
  readonly #active = new Set<Receiver>();
  readonly #inFlightByOrigin = new Map<string, number>();
  /** The next client app to be served first. */
  readonly #apps = new Map<string, App>();
  readonly #sweeping: Repetition;
  #inFlightCount = 0;
  #waitingCount = 0;
  #waitingBytes = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#sweeping = startRepeating(() => this.sweep(), { intervalMs: SWEEP_INTERVAL_MS });
  }

  get inFlightCount(): number {
    return this.#inFlightCount;
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  /**
   * Resolves to a slot for an attempt, at once or within about 2 s, or to `undefined`: defer the message.
   *
   * @param bytes size of the message while it waits
   */
  async acquire(clientId: string, origin: string, bytes: number): Promise<Slot | undefined> {
    const app = this.#appOf(clientId);
    const receiver = this.#receivers.of(clientId, origin);
    const queuePosition = (app.queues.get(origin)?.waiters.length ?? 0) + 1;
    const unproven = this.#countUnproven(clientId);
    if (queuePosition === 1 && this.#hasRoom(app, receiver, unproven)) return this.#take(app, receiver);
    const slot = this.#mayWait(app, receiver, { queuePosition, bytes, unproven })
      ? new Promise<Slot | undefined>((settle) =>
          this.#enqueue(app, receiver, { bytes, sinceMs: this.#monotonicMs(), settle }),
        )
      : undefined;
    this.#forgetIfIdle(app);
    return slot;
  }

  /** Whether a receiver took a message within the last minute and does not seem to hang. */
  isProven(clientId: string, origin: string): boolean {
    return this.#receivers.of(clientId, origin).isProven(this.#monotonicMs());
  }

  /** Gives free slots to waiting messages and defers messages that would wait too long. Runs every 100 ms. */
  sweep(): void {
    if (this.#waitingCount === 0) return;
    this.#serve();
    const nowMs = this.#monotonicMs();
    for (const [app, queue] of this.#allQueues()) {
      const { receiver, waiters } = queue;
      while (this.#expectedWaitMs(receiver, waiters.length) > EXPECTED_WAIT_MS_MAX)
        this.#dequeue(app, queue, waiters.pop())?.settle(undefined);
      while (waiters[0] !== undefined && nowMs - waiters[0].sinceMs > WAIT_MS_MAX)
        this.#dequeue(app, queue, waiters.shift())?.settle(undefined);
    }
  }

  [Symbol.dispose](): void {
    this.#sweeping.stop();
    for (const [app, queue] of this.#allQueues())
      while (queue.waiters.length > 0) this.#dequeue(app, queue, queue.waiters.pop())?.settle(undefined);
  }

  #hasRoom(app: App, receiver: Receiver, unproven: Unproven): boolean {
    const freeCount = SLOTS - this.#inFlightCount;
    if (app.inFlightCount >= freeCount * SLOTS_PER_FREE_SLOT) return false;
    if (receiver.inFlightCount() >= RECEIVER_SLOTS) return false;
    const atOriginCount = this.#inFlightByOrigin.get(receiver.origin) ?? 0;
    if (atOriginCount >= ORIGIN_SLOTS) return false;
    if (receiver.isProven(this.#monotonicMs())) return true;
    // Many client apps may share one origin: an app whose receiver hangs must leave slots at it to the others.
    if (receiver.inFlightCount() >= ORIGIN_SLOTS - atOriginCount) return false;
    return hasUnprovenRoom(receiver, unproven);
  }

  #countUnproven(clientId: string): Unproven {
    return countUnproven(this.#active, clientId, this.#monotonicMs());
  }

  /** Whether a message may wait in memory: there is room, and its turn is expected in time. */
  #mayWait(
    app: App,
    receiver: Receiver,
    {
      queuePosition,
      bytes,
      unproven,
    }: { readonly queuePosition: number; readonly bytes: number; readonly unproven: Unproven },
  ): boolean {
    if (queuePosition > WAITING_PER_RECEIVER_MAX) return false;
    if (app.waitingBytes + bytes > WAITING_BYTES_MAX - this.#waitingBytes) return false;
    if (this.#expectedWaitMs(receiver, queuePosition) > EXPECTED_WAIT_MS_MAX) return false;
    if (!isShareUsed(unproven) || receiver.isProven(this.#monotonicMs())) return true;
    return this.#expectedTurnMs(app) <= EXPECTED_WAIT_MS_MAX;
  }

  #take(app: App, receiver: Receiver): Slot {
    const attempt = receiver.begin(this.#monotonicMs());
    this.#active.add(receiver);
    this.#inFlightCount += 1;
    app.inFlightCount += 1;
    this.#countOrigin(receiver.origin, 1);
    let isFree = false;
    return {
      release: (isHealthy) => {
        if (isFree) return;
        isFree = true;
        receiver.end(attempt, isHealthy, this.#monotonicMs());
        if (receiver.inFlightCount() === 0) this.#active.delete(receiver);
        this.#inFlightCount -= 1;
        app.inFlightCount -= 1;
        this.#countOrigin(receiver.origin, -1);
        this.#serve();
        this.#forgetIfIdle(app);
      },
    };
  }

  #countOrigin(origin: string, change: 1 | -1): void {
    const count = (this.#inFlightByOrigin.get(origin) ?? 0) + change;
    if (count === 0) this.#inFlightByOrigin.delete(origin);
    else this.#inFlightByOrigin.set(origin, count);
  }

  #enqueue(app: App, receiver: Receiver, waiter: Waiter): void {
    const queue = app.queues.get(receiver.origin);
    if (queue === undefined) app.queues.set(receiver.origin, { receiver, waiters: [waiter] });
    else queue.waiters.push(waiter);
    this.#countWaiting(app, 1, waiter.bytes);
  }

  #dequeue(app: App, queue: Queue, waiter: Waiter | undefined): Waiter | undefined {
    if (waiter === undefined) return undefined;
    this.#countWaiting(app, -1, -waiter.bytes);
    if (queue.waiters.length === 0) app.queues.delete(queue.receiver.origin);
    this.#forgetIfIdle(app);
    return waiter;
  }

  #countWaiting(app: App, count: 1 | -1, bytes: number): void {
    this.#waitingCount += count;
    this.#waitingBytes += bytes;
    app.waitingCount += count;
    app.waitingBytes += bytes;
  }

  /** Each waiting client app gets at most one slot per round. Stops after a round without one. */
  #serve(): void {
    for (let isServed = true; isServed && this.#waitingCount > 0; ) {
      isServed = false;
      for (const app of [...this.#apps.values()]) {
        if (this.#inFlightCount >= SLOTS) return;
        if (app.waitingCount > 0 && this.#serveOne(app)) isServed = true;
      }
    }
  }

  /** Gives a slot to the first of an app's waiting receivers that has room for an attempt. */
  #serveOne(app: App): boolean {
    // Counted once per slot given, not once per waiting receiver: there may be thousands of those.
    const unproven = this.#countUnproven(app.clientId);
    for (const [origin, queue] of app.queues) {
      if (!this.#hasRoom(app, queue.receiver, unproven)) continue;
      const slot = this.#take(app, queue.receiver);
      const waiter = this.#dequeue(app, queue, queue.waiters.shift());
      // Move both to the end of their queues.
      if (app.queues.delete(origin)) app.queues.set(origin, queue);
      if (this.#apps.delete(app.clientId)) this.#apps.set(app.clientId, app);
      waiter?.settle(slot);
      return true;
    }
    return false;
  }

  #expectedWaitMs(receiver: Receiver, queuePosition: number): number {
    return (queuePosition * receiver.expectedDurationMs(this.#monotonicMs())) / RECEIVER_SLOTS;
  }

  /** The expected wait behind the client app's earlier messages to unproven receivers. */
  #expectedTurnMs(app: App): number {
    const nowMs = this.#monotonicMs();
    let endingPerMs = 0;
    for (const receiver of this.#active)
      if (receiver.clientId === app.clientId && !receiver.isProven(nowMs))
        endingPerMs += receiver.inFlightCount() / receiver.expectedDurationMs(nowMs);
    return (app.waitingCount + 1) / endingPerMs;
  }

  #appOf(clientId: string): App {
    const known = this.#apps.get(clientId);
    if (known !== undefined) return known;
    const app: App = { clientId, inFlightCount: 0, waitingCount: 0, waitingBytes: 0, queues: new Map() };
    this.#apps.set(clientId, app);
    return app;
  }

  #forgetIfIdle(app: App): void {
    if (app.inFlightCount === 0 && app.waitingCount === 0) this.#apps.delete(app.clientId);
  }

  #allQueues(): [App, Queue][] {
    return [...this.#apps.values()].flatMap((app) =>
      [...app.queues.values()].map((queue): [App, Queue] => [app, queue]),
    );
  }
}
