import { RECEIVER_SLOTS, type Receiver } from './receiver.ts';

/**
 * How many attempts an unproven receiver may have in flight, by how many all unproven receivers of its client app have
 * together: many that hang at once must leave slots for the app's other receivers.
 */
const UNPROVEN_SHARES: readonly (readonly [unprovenOfAppMax: number, perReceiver: number])[] = [
  [16, RECEIVER_SLOTS],
  [32, 2],
  [Number.POSITIVE_INFINITY, 1],
];

/** Attempts in flight to the unproven receivers of a client app. */
export function unprovenOf(active: Iterable<Receiver>, clientId: string, nowMs: number): number {
  let count = 0;
  for (const receiver of active)
    if (receiver.clientId === clientId && !receiver.isProven(nowMs)) count += receiver.inFlightCount();
  return count;
}

/** How many attempts each of them may have in flight. */
export const unprovenSlotsOf = (unprovenOfApp: number): number =>
  UNPROVEN_SHARES.find(([max]) => unprovenOfApp < max)?.[1] ?? 0;
