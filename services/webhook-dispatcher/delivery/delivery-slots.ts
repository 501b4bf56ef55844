import { makeReceiver, RECEIVER_SLOTS, type Receiver } from './receiver.ts';

/** Attempts in flight in this process. */
const SLOTS = 256;
/** Attempts in flight to one origin, for all client apps together. */
export const ORIGIN_SLOTS = 16;
/** A message waits in memory while its expected wait is at most this. */
const EXPECTED_WAIT_MS_MAX = 1_000;
/** And is put aside after this, whatever was expected. */
const WAIT_MS_MAX = 2_000;
const WAITING_PER_RECEIVER_MAX = 4_096;
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
/** How often the expectations of those that wait are looked at again. */
const SWEEP_INTERVAL_MS = 100;
/** Receivers whose health is remembered. */
const RECEIVERS_MAX = 10_000;

/**
 * How many attempts one receiver that has not proved itself lately may have in flight, by how many all of these
 * have together: many hanging receivers at once must leave slots for the healthy ones.
 */
const UNPROVEN_SHARES: readonly (readonly [unprovenInFlightMax: number, perReceiver: number])[] = [
  [32, RECEIVER_SLOTS],
  [96, 2],
  [192, 1],
];

export type Slot = {
  /** Frees the slot, once. `isHealthy`: the receiver took the message; `undefined`: nothing was learned of it. */
  readonly release: (isHealthy: boolean | undefined) => void;
};

type Waiter = {
  readonly bytes: number;
  readonly sinceMs: number;
  readonly settle: (slot: Slot | undefined) => void;
};
type Queue = { readonly receiver: Receiver; readonly waiters: Waiter[] };

/**
 * Hands out the slots for attempts so that one slow receiver displaces nothing but itself.
 *
 * Bounds: 256 in flight, 16 per origin, 8 per receiver; waiting 4 096 per receiver and 64 MiB in all, each
 * about a second. Slots that become free go to the waiting receivers in turn.
 *
 * @example
 * using slots = new DeliverySlots(() => performance.now());
 * const slot = await slots.acquire(`${clientId} ${origin}`, origin, body.length);
 * slot?.release(true);
 */
export class DeliverySlots implements Disposable {
  readonly #nowMs: () => number;
  readonly #receivers = new Map<string, Receiver>();
  /** Receivers with attempts in flight: at most as many as there are slots. */
  readonly #active = new Set<Receiver>();
  readonly #inFlightByOrigin = new Map<string, number>();
  readonly #queues = new Map<string, Queue>();
  readonly #timer: NodeJS.Timeout;
  #inFlightCount = 0;
  #waitingCount = 0;
  #waitingBytes = 0;

  /** @param nowMs a monotonic clock, ms. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
    this.#timer.unref();
  }

  get inFlightCount(): number {
    return this.#inFlightCount;
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  /**
   * A slot for an attempt, now or within about a second; `undefined`: put the message aside.
   *
   * @param receiverKey names the client app and the origin. @param bytes size of the message while it waits.
   */
  async acquire(receiverKey: string, origin: string, bytes: number): Promise<Slot | undefined> {
    const receiver = this.#receiverOf(receiverKey, origin);
    const queue = this.#queues.get(receiverKey);
    if (queue === undefined && this.#hasRoom(receiver)) return this.#take(receiver);
    const place = (queue?.waiters.length ?? 0) + 1;
    if (place > WAITING_PER_RECEIVER_MAX || this.#waitingBytes + bytes > WAITING_BYTES_MAX) return undefined;
    if (this.#expectedWaitMs(receiver, place) > EXPECTED_WAIT_MS_MAX) return undefined;
    return new Promise((settle) => this.#enqueue(receiver, { bytes, sinceMs: this.#nowMs(), settle }));
  }

  /** Serves who can be served and puts aside who would wait for too long. Runs by itself every 100 ms. */
  sweep(): void {
    if (this.#waitingCount === 0) return;
    this.#serve();
    const nowMs = this.#nowMs();
    for (const queue of [...this.#queues.values()]) {
      const { receiver, waiters } = queue;
      while (this.#expectedWaitMs(receiver, waiters.length) > EXPECTED_WAIT_MS_MAX)
        this.#dequeue(queue, waiters.pop())?.settle(undefined);
      while (waiters[0] !== undefined && nowMs - waiters[0].sinceMs > WAIT_MS_MAX)
        this.#dequeue(queue, waiters.shift())?.settle(undefined);
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const queue of [...this.#queues.values()])
      while (queue.waiters.length > 0) this.#dequeue(queue, queue.waiters.pop())?.settle(undefined);
  }

  #hasRoom(receiver: Receiver, knownUnproven?: number): boolean {
    if (this.#inFlightCount >= SLOTS || receiver.inFlightCount() >= RECEIVER_SLOTS) return false;
    if ((this.#inFlightByOrigin.get(receiver.origin) ?? 0) >= ORIGIN_SLOTS) return false;
    if (receiver.isProven(this.#nowMs())) return true;
    const unprovenInFlight = knownUnproven ?? this.#unprovenInFlight();
    const share = UNPROVEN_SHARES.find(([max]) => unprovenInFlight < max)?.[1] ?? 0;
    return receiver.inFlightCount() < share;
  }

  #unprovenInFlight(): number {
    const nowMs = this.#nowMs();
    let count = 0;
    for (const active of this.#active) if (!active.isProven(nowMs)) count += active.inFlightCount();
    return count;
  }

  #take(receiver: Receiver): Slot {
    const attempt = receiver.begin(this.#nowMs());
    this.#active.add(receiver);
    this.#inFlightCount += 1;
    this.#countOrigin(receiver.origin, 1);
    let isFree = false;
    return {
      release: (isHealthy) => {
        if (isFree) return;
        isFree = true;
        receiver.end(attempt, isHealthy, this.#nowMs());
        if (receiver.inFlightCount() === 0) this.#active.delete(receiver);
        this.#inFlightCount -= 1;
        this.#countOrigin(receiver.origin, -1);
        this.#serve();
      },
    };
  }

  #countOrigin(origin: string, change: 1 | -1): void {
    const count = (this.#inFlightByOrigin.get(origin) ?? 0) + change;
    if (count === 0) this.#inFlightByOrigin.delete(origin);
    else this.#inFlightByOrigin.set(origin, count);
  }

  #enqueue(receiver: Receiver, waiter: Waiter): void {
    const queue = this.#queues.get(receiver.key);
    if (queue === undefined) this.#queues.set(receiver.key, { receiver, waiters: [waiter] });
    else queue.waiters.push(waiter);
    this.#waitingCount += 1;
    this.#waitingBytes += waiter.bytes;
  }

  #dequeue(queue: Queue, waiter: Waiter | undefined): Waiter | undefined {
    if (waiter === undefined) return undefined;
    this.#waitingCount -= 1;
    this.#waitingBytes -= waiter.bytes;
    if (queue.waiters.length === 0) this.#queues.delete(queue.receiver.key);
    return waiter;
  }

  /** Each waiting receiver gets at most one slot a round; rounds go on while any was given. */
  #serve(): void {
    for (let given = true; given && this.#queues.size > 0; ) {
      given = false;
      // Counted once a slot that was given, not once a receiver that waits: of those there may be thousands.
      let unprovenInFlight = this.#unprovenInFlight();
      for (const queue of [...this.#queues.values()]) {
        if (this.#inFlightCount >= SLOTS) return;
        if (!this.#hasRoom(queue.receiver, unprovenInFlight)) continue;
        const waiter = this.#dequeue(queue, queue.waiters.shift());
        if (waiter === undefined) continue;
        given = true;
        // Last in the next round.
        if (this.#queues.delete(queue.receiver.key)) this.#queues.set(queue.receiver.key, queue);
        waiter.settle(this.#take(queue.receiver));
        unprovenInFlight = this.#unprovenInFlight();
      }
    }
  }

  #expectedWaitMs(receiver: Receiver, place: number): number {
    return (place * receiver.expectedDurationMs(this.#nowMs())) / RECEIVER_SLOTS;
  }

  #receiverOf(key: string, origin: string): Receiver {
    const known = this.#receivers.get(key);
    if (known !== undefined) return known;
    if (this.#receivers.size >= RECEIVERS_MAX) this.#forgetIdle();
    const receiver = makeReceiver(key, origin);
    this.#receivers.set(key, receiver);
    return receiver;
  }

  /** Forgets the older half. One with attempts in flight or in a queue is kept alive by those that hold it. */
  #forgetIdle(): void {
    for (const [key, receiver] of this.#receivers) {
      if (!this.#active.has(receiver) && !this.#queues.has(key)) this.#receivers.delete(key);
      if (this.#receivers.size <= RECEIVERS_MAX / 2) return;
    }
  }
}
