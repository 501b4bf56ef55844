import { RECEIVER_SLOTS, type Receiver } from './receiver.ts';

/** Attempts in flight to receivers without a recent success. */
const UNPROVEN_SLOTS = 192;

/**
 * How many attempts an unproven receiver may have in flight, by how many all unproven receivers of its client app have
 * together: many that hang at once must leave slots for the app's other receivers.
 */
const UNPROVEN_SHARES: readonly (readonly [unprovenOfAppMax: number, perReceiver: number])[] = [
  [16, RECEIVER_SLOTS],
  [48, 2],
  [UNPROVEN_SLOTS, 1],
];

/** Attempts in flight to unproven receivers. */
export type Unproven = { readonly inAll: number; readonly ofApp: number };

/** Counts the attempts in flight to unproven receivers, of all client apps and of one. */
export function countUnproven(active: Iterable<Receiver>, clientId: string, nowMs: number): Unproven {
  let [inAll, ofApp] = [0, 0];
  for (const receiver of active) {
    if (receiver.isProven(nowMs)) continue;
    inAll += receiver.inFlightCount();
    if (receiver.clientId === clientId) ofApp += receiver.inFlightCount();
  }
  return { inAll, ofApp };
}

/** Whether a client app has used its share: it holds as many slots as are free. */
export const isShareUsed = ({ inAll, ofApp }: Unproven): boolean => ofApp >= UNPROVEN_SLOTS - inAll;

/** Whether an unproven receiver may have one more attempt in flight. */
export function hasUnprovenRoom(receiver: Receiver, unproven: Unproven): boolean {
  if (isShareUsed(unproven)) return false;
  const share = UNPROVEN_SHARES.find(([max]) => unproven.ofApp < max)?.[1] ?? 0;
  return receiver.inFlightCount() < share;
}
