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
/** Attempts in flight to one receiver, at most. */
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
/** The largest record of a delivery. */
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
/** A receiver and the messages that wait for it. */
type Line = { readonly receiver: Receiver; readonly waiters: Waiter[] };

/** A client app with attempts in flight or waiting messages. */
type App = {
  readonly owner: AppOwner;
  inFlightCount: number;
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
    make: (clientId, origin) => ({ receiver: makeReceiver(clientId, origin), waiters: [] }),
    isIdle: ({ receiver, waiters }) => receiver.inFlightCount() === 0 && waiters.length === 0,
  });
  readonly #shares = new FairShares(SLOTS);
  /** Of the origins with attempts in flight. */
  readonly #originShares = new Map<string, FairShares>();
  readonly #waitingBytes = new FairShares(WAITING_BYTES_MAX, { place: MESSAGE_BYTES_MAX });
  readonly #apps = new Map<string, App>();
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
  async acquire({ accountId, clientId }: AppOwner, origin: string, bytes: number): Promise<Slot | undefined> {
    const app = this.#appOf({ accountId, clientId });
    const line = this.#lines.of(app.owner, origin);
    const queuePosition = line.waiters.length + 1;
    if (queuePosition === 1 && this.#hasRoom(app, line.receiver)) return this.#take(app, line);
    const slot = this.#mayWait(app, line.receiver, queuePosition, bytes)
      ? new Promise<Slot | undefined>((settle) =>
          this.#enqueue(app, line, { bytes, sinceMs: this.#monotonicMs(), settle }),
        )
      : undefined;
    this.#forgetIfIdle(app);
    return slot;
  }

  /** Whether a receiver took a message within the last minute and does not seem to hang. */
  isProven(app: AppOwner, origin: string): boolean {
    return this.#lines.of(app, origin).receiver.isProven(this.#monotonicMs());
  }

  /** Gives free slots to waiting messages and defers messages that would wait too long. Runs every
   * 100 ms. */
  sweep(): void {
    if (this.#waitingCount === 0) return;
    this.#serve();
    const nowMs = this.#monotonicMs();
    for (const [app, line] of this.#waitingLines()) {
      const { receiver, waiters } = line;
      this.#serveLine(app, line);
      while (this.#expectedWaitMs(receiver, waiters.length) > EXPECTED_WAIT_MS_MAX)
        this.#dequeue(app, line, waiters.pop())?.settle(undefined);
      while (waiters[0] !== undefined && nowMs - waiters[0].sinceMs > WAIT_MS_MAX)
        this.#dequeue(app, line, waiters.shift())?.settle(undefined);
    }
  }

  [Symbol.dispose](): void {
    this.#sweeping.stop();
    for (const [app, line] of this.#waitingLines())
      while (line.waiters.length > 0) this.#dequeue(app, line, line.waiters.pop())?.settle(undefined);
  }

  #hasRoom(app: App, receiver: Receiver): boolean {
    if (!this.#shares.hasRoom(app.owner)) return false;
    if (this.#originShares.get(receiver.origin)?.hasRoom(app.owner) === false) return false;
    if (receiver.isProven(this.#monotonicMs())) return true;
    const unprovenCount = this.#unprovenOf(app);
    const slots = UNPROVEN_SHARES.find(([max]) => unprovenCount < max)?.[1] ?? 0;
    return receiver.inFlightCount() < slots && this.#hasUnprovenRoom(app, unprovenCount);
  }

  /** Whether the app's unproven receivers may have one more attempt in flight. */
  #hasUnprovenRoom({ owner, inFlightCount }: App, unprovenCount: number): boolean {
    const left = Math.max(0, PROVEN_SLOTS - (inFlightCount - unprovenCount));
    return inFlightCount === 0 || this.#shares.hasRoom(owner, 1 + left);
  }

  /** Attempts in flight to the app's unproven receivers. */
  #unprovenOf({ active }: App): number {
    const nowMs = this.#monotonicMs();
    let count = 0;
    for (const receiver of active) if (!receiver.isProven(nowMs)) count += receiver.inFlightCount();
    return count;
  }

  /** Whether a message may wait in memory: there is room, and its turn is expected in time. */
  #mayWait(app: App, receiver: Receiver, queuePosition: number, bytes: number): boolean {
    if (queuePosition > WAITING_PER_RECEIVER_MAX) return false;
    if (!this.#waitingBytes.hasRoom(app.owner, bytes)) return false;
    if (this.#expectedWaitMs(receiver, queuePosition) > EXPECTED_WAIT_MS_MAX) return false;
    if (receiver.isProven(this.#monotonicMs()) || this.#hasUnprovenRoom(app, this.#unprovenOf(app)))
      return true;
    return this.#expectedTurnMs(app) <= EXPECTED_WAIT_MS_MAX;
  }

  #take(app: App, line: Line): Slot {
    const { receiver } = line;
    const { origin } = receiver;
    const attempt = receiver.begin(this.#monotonicMs());
    const atOrigin = this.#originShares.get(origin) ?? new FairShares(ORIGIN_SLOTS);
    this.#originShares.set(origin, atOrigin);
    atOrigin.take(app.owner);
    this.#shares.take(app.owner);
    app.active.add(receiver);
    app.inFlightCount += 1;
    let isFree = false;
    return {
      release: (isHealthy) => {
        if (isFree) return;
        isFree = true;
        receiver.end(attempt, isHealthy, this.#monotonicMs());
        if (receiver.inFlightCount() === 0) app.active.delete(receiver);
        app.inFlightCount -= 1;
        this.#shares.give(app.owner);
        atOrigin.give(app.owner);
        if (atOrigin.count === 0) this.#originShares.delete(origin);
        if (!this.#serve()) this.#serveLine(app, line);
        this.#forgetIfIdle(app);
      },
    };
  }

  #enqueue(app: App, line: Line, waiter: Waiter): void {
    if (line.waiters.push(waiter) === 1) this.#waiting.push(app.owner, line);
    this.#waitingCount += 1;
    app.waitingCount += 1;
    this.#waitingBytes.take(app.owner, waiter.bytes);
  }

  #dequeue(app: App, line: Line, waiter: Waiter | undefined): Waiter | undefined {
    if (waiter === undefined) return undefined;
    if (line.waiters.length === 0) this.#waiting.remove(app.owner, line);
    this.#waitingCount -= 1;
    app.waitingCount -= 1;
    this.#waitingBytes.give(app.owner, waiter.bytes);
    this.#forgetIfIdle(app);
    return waiter;
  }

  /** Gives slots to the waiting receivers whose turn it is, until a number of them has no room.
   * Returns whether it gave any. */
  #serve(): boolean {
    let isServed = false;
    for (let misses = 0; misses < Math.min(LOOKS_MAX, this.#waiting.size); misses += 1) {
      const line = this.#shares.count < SLOTS ? this.#waiting.take() : undefined;
      const app = line && this.#apps.get(line.receiver.clientId);
      if (line === undefined || app === undefined) break;
      if (this.#serveLine(app, line)) {
        isServed = true;
        misses = -1;
      }
      if (line.waiters.length > 0) this.#waiting.push(app.owner, line);
    }
    return isServed;
  }

  /** Gives a slot to the first message of a receiver if it has room for an attempt. */
  #serveLine(app: App, line: Line): boolean {
    if (line.waiters.length === 0 || !this.#hasRoom(app, line.receiver)) return false;
    const slot = this.#take(app, line);
    this.#dequeue(app, line, line.waiters.shift())?.settle(slot);
    return true;
  }

  #expectedWaitMs(receiver: Receiver, queuePosition: number): number {
    return (queuePosition * receiver.expectedDurationMs(this.#monotonicMs())) / RECEIVER_SLOTS;
  }

  /** The expected wait behind the client app's earlier messages to unproven receivers. */
  #expectedTurnMs(app: App): number {
    const nowMs = this.#monotonicMs();
    let endingPerMs = 0;
    for (const receiver of app.active)
      if (!receiver.isProven(nowMs))
        endingPerMs += receiver.inFlightCount() / receiver.expectedDurationMs(nowMs);
    return (app.waitingCount + 1) / endingPerMs;
  }

  #appOf(owner: AppOwner): App {
    const known = this.#apps.get(owner.clientId);
    if (known !== undefined) return known;
    const app: App = { owner, inFlightCount: 0, waitingCount: 0, active: new Set() };
    this.#apps.set(owner.clientId, app);
    return app;
  }

  #forgetIfIdle(app: App): void {
    if (app.inFlightCount === 0 && app.waitingCount === 0) this.#apps.delete(app.owner.clientId);
  }

  /** Those of now: they change while they are served. */
  #waitingLines(): [App, Line][] {
    return [...this.#waiting.queues()].flatMap(([, lines]) =>
      lines.flatMap((line): [App, Line][] => {
        const app = this.#apps.get(line.receiver.clientId);
        return app === undefined ? [] : [[app, line]];
      }),
    );
  }
}
