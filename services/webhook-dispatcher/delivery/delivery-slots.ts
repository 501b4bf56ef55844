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
  /** Frees the slot. `isHealthy`: the receiver took the message; `undefined`: nothing was learned of it. */
  readonly release: (isHealthy: boolean | undefined) => void;
};

type Waiter = {
  readonly bytes: number;
  readonly sinceMs: number;
  readonly settle: (slot: Slot | undefined) => void;
};
type Queue = { readonly receiver: Receiver; readonly waiters: Waiter[] };

export type DeliverySlots = Disposable & {
  /**
   * A slot for an attempt at `receiverKey`, now or within about a second; `undefined`: put the message aside.
   *
   * @param receiverKey the client app and the origin. @param bytes size of the message while it waits.
   */
  readonly acquire: (receiverKey: string, origin: string, bytes: number) => Promise<Slot | undefined>;
  readonly inFlightCount: () => number;
  readonly waitingCount: () => number;
};

/**
 * Hands out the slots for attempts so that one slow receiver displaces nothing but itself.
 *
 * Bounds: 256 in flight, 16 per origin, 8 per receiver; waiting 4 096 per receiver and 64 MiB in all, each
 * about a second. Slots that become free go to the waiting receivers in turn. `nowMs` is a monotonic clock.
 *
 * @example
 * const slot = await slots.acquire(`${clientId} ${origin}`, origin, body.length);
 * if (slot) slot.release(true);
 */
export function startDeliverySlots(nowMs: () => number): DeliverySlots {
  const receivers = new Map<string, Receiver>();
  const inFlightByOrigin = new Map<string, number>();
  const queues = new Map<string, Queue>();
  let inFlight = 0;
  let waitingCount = 0;
  let waitingBytes = 0;

  const receiverOf = (key: string, origin: string): Receiver => {
    const receiver = receivers.get(key) ?? makeReceiver(key, origin);
    receivers.set(key, receiver);
    return receiver;
  };

  const unprovenInFlight = (now: number): number => {
    let count = 0;
    for (const receiver of receivers.values()) if (!receiver.isProven(now)) count += receiver.inFlight();
    return count;
  };

  const hasRoom = (receiver: Receiver, now: number): boolean => {
    if (inFlight >= SLOTS || receiver.inFlight() >= RECEIVER_SLOTS) return false;
    if ((inFlightByOrigin.get(receiver.origin) ?? 0) >= ORIGIN_SLOTS) return false;
    if (receiver.isProven(now)) return true;
    const together = unprovenInFlight(now);
    const share = UNPROVEN_SHARES.find(([max]) => together < max)?.[1] ?? 0;
    return receiver.inFlight() < share;
  };

  const take = (receiver: Receiver): Slot => {
    const attempt = receiver.begin(nowMs());
    inFlight += 1;
    inFlightByOrigin.set(receiver.origin, (inFlightByOrigin.get(receiver.origin) ?? 0) + 1);
    let isFree = false;
    return {
      release(isHealthy) {
        if (isFree) return;
        isFree = true;
        receiver.end(attempt, isHealthy, nowMs());
        inFlight -= 1;
        const left = (inFlightByOrigin.get(receiver.origin) ?? 1) - 1;
        if (left === 0) inFlightByOrigin.delete(receiver.origin);
        else inFlightByOrigin.set(receiver.origin, left);
        serve();
        forgetIdle();
      },
    };
  };

  const dequeue = (queue: Queue, waiter: Waiter | undefined): Waiter | undefined => {
    if (waiter === undefined) return undefined;
    waitingCount -= 1;
    waitingBytes -= waiter.bytes;
    if (queue.waiters.length === 0) queues.delete(queue.receiver.key);
    return waiter;
  };

  /** One round gives each waiting receiver at most one slot; rounds go on while any was given. */
  const serve = () => {
    for (let given = true; given && inFlight < SLOTS; ) {
      given = false;
      for (const queue of [...queues.values()]) {
        if (!hasRoom(queue.receiver, nowMs())) continue;
        const waiter = dequeue(queue, queue.waiters.shift());
        if (waiter === undefined) continue;
        waiter.settle(take(queue.receiver));
        given = true;
        // Last in the next round.
        if (queues.delete(queue.receiver.key)) queues.set(queue.receiver.key, queue);
      }
    }
  };

  const expectedWaitMs = (receiver: Receiver, place: number): number =>
    (place * receiver.expectedDurationMs(nowMs())) / RECEIVER_SLOTS;

  const sweep = () => {
    serve();
    const now = nowMs();
    for (const queue of [...queues.values()]) {
      const { receiver, waiters } = queue;
      while (waiters.length > 0 && expectedWaitMs(receiver, waiters.length) > EXPECTED_WAIT_MS_MAX)
        dequeue(queue, waiters.pop())?.settle(undefined);
      while (waiters[0] !== undefined && now - waiters[0].sinceMs > WAIT_MS_MAX)
        dequeue(queue, waiters.shift())?.settle(undefined);
    }
    forgetIdle();
  };

  /** A receiver is remembered while it is used; beyond that for its health, up to a bound. */
  const RECEIVERS_MAX = 10_000;
  const forgetIdle = () => {
    if (receivers.size <= RECEIVERS_MAX) return;
    for (const [key, receiver] of receivers) {
      if (receiver.inFlight() === 0 && !queues.has(key)) receivers.delete(key);
      if (receivers.size <= RECEIVERS_MAX / 2) return;
    }
  };

  const timer = setInterval(() => {
    if (waitingCount > 0) sweep();
  }, SWEEP_INTERVAL_MS);
  timer.unref();

  return {
    acquire(receiverKey, origin, bytes) {
      const receiver = receiverOf(receiverKey, origin);
      const queue = queues.get(receiverKey);
      if (queue === undefined && hasRoom(receiver, nowMs())) return Promise.resolve(take(receiver));
      const place = (queue?.waiters.length ?? 0) + 1;
      const isTooMuch = place > WAITING_PER_RECEIVER_MAX || waitingBytes + bytes > WAITING_BYTES_MAX;
      if (isTooMuch || expectedWaitMs(receiver, place) > EXPECTED_WAIT_MS_MAX)
        return Promise.resolve(undefined);
      const { promise, resolve } = Promise.withResolvers<Slot | undefined>();
      const waiter = { bytes, sinceMs: nowMs(), settle: resolve };
      if (queue === undefined) queues.set(receiverKey, { receiver, waiters: [waiter] });
      else queue.waiters.push(waiter);
      waitingCount += 1;
      waitingBytes += bytes;
      return promise;
    },
    inFlightCount: () => inFlight,
    waitingCount: () => waitingCount,
    [Symbol.dispose]() {
      clearInterval(timer);
      for (const queue of [...queues.values()])
        while (queue.waiters.length > 0) dequeue(queue, queue.waiters.pop())?.settle(undefined);
    },
  };
}
