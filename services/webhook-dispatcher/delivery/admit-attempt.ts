import { Breaker, type BreakerState } from '#shared/breaker/breaker.ts';
import { shareOfWindow } from '#shared/breaker/share-of-window.ts';
import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import { makeBacklog } from '../domain/backlog.ts';
import type { Deferral } from '../domain/schedule-retry.ts';
import type { DeliverySlots } from './delivery-slots.ts';
import { PerReceiver } from './per-receiver.ts';

const WINDOW_MS = 60_000;
const OPEN_MS_MIN = 30_000;
const OPEN_MS_MAX = 600_000;

/** Permission for one attempt; the caller must call `end`. `isHealthy`: the receiver took the
 * message; `undefined`: it was not reached. */
export type Admitted = {
  readonly reason?: undefined;
  readonly end: (isHealthy: boolean | undefined) => void;
};

/** Permission for one attempt, or the reason to defer the message. */
export type AdmitResult = Admitted | (Deferral & { readonly end?: undefined });

export type AttemptGate = ReturnType<typeof makeAttemptGate>;

type Dependencies = {
  readonly slots: Pick<DeliverySlots, 'acquire' | 'msPerMessage'>;
  readonly monotonicMs: () => number;
  /** Multiplies the times of the breaker and of the tiers, for tests. 1 in production. */
  readonly scale: number;
};

/**
 * The gate before every attempt: the breaker and the slots of its receiver (client app and origin).
 *
 * @example
 * const admission = await gate.admit(delivery, callbackUrl, body.length);
 * if (admission.end) admission.end(true);
 */
export function makeAttemptGate({ slots, monotonicMs, scale }: Dependencies) {
  const openTimes = { openMsMin: OPEN_MS_MIN * scale, openMsMax: OPEN_MS_MAX * scale };
  const breakers = new PerReceiver({
    make: () => new Breaker(shareOfWindow(WINDOW_MS * scale, monotonicMs), openTimes, monotonicMs),
    // A running attempt keeps its breaker; the next attempt to this receiver begins with a new one.
    isIdle: () => true,
  });
  const backlogs = new PerReceiver({ make: () => makeBacklog(scale), isIdle: () => true });
  const deferWithoutSlot = (app: AppOwner, origin: string): AdmitResult => {
    const msPerMessage = slots.msPerMessage(app, origin);
    if (msPerMessage === undefined) return { reason: 'hanging' };
    return { reason: 'slots', tier: backlogs.of(app, origin).defer(monotonicMs(), msPerMessage) };
  };
  return {
    /** Asks for permission to deliver `bytes` to a callback URL. Resolves within about 2 s. */
    async admit(app: AppOwner, callbackUrl: string, bytes: number): Promise<AdmitResult> {
      const { origin } = new URL(callbackUrl);
      const breaker = breakers.of(app, origin);
      if (breaker.state === 'open') return { reason: 'breaker' };
      const slot = await slots.acquire(app, origin, bytes);
      if (slot === undefined) return deferWithoutSlot(app, origin);
      // Last, because an admitted probe must be made. The breaker may have opened during the wait
      // for a slot.
      const admission = breaker.admit();
      if (admission === undefined) {
        slot.release(undefined);
        return { reason: 'breaker' };
      }
      return {
        end(isHealthy) {
          breaker.record(isHealthy === undefined ? undefined : !isHealthy, admission);
          slot.release(isHealthy);
        },
      };
    },
    breakerCounts(): Readonly<Record<BreakerState, number>> {
      const counts = { closed: 0, open: 0, 'half-open': 0 };
      for (const breaker of breakers.values()) counts[breaker.state] += 1;
      return counts;
    },
  };
}
