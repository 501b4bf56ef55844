import { type BreakerState, makeBreaker } from '../domain/make-breaker.ts';
import type { DeliverySlots } from './delivery-slots.ts';
import { PerReceiver } from './per-receiver.ts';

/** How an admitted attempt ended: it was taken, it failed, or nothing was learned of the receiver. */
export type AttemptVerdict = 'healthy' | 'failing' | 'unknown';

/** Leave for one attempt, which must be ended. */
export type Admitted = { readonly reason?: undefined; readonly end: (verdict: AttemptVerdict) => void };

/** Leave for one attempt, or the reason to put the message aside. */
export type Leave = Admitted | { readonly reason: 'slots' | 'hanging' | 'breaker'; readonly end?: undefined };

export type AttemptGate = {
  /** Asks for leave to attempt a delivery of `bytes` to a callback address; answers within about 2 s. */
  readonly admit: (clientId: string, callbackUrl: string, bytes: number) => Promise<Leave>;
  /** How many of the remembered breakers are in each state. */
  readonly breakerCounts: () => Readonly<Record<BreakerState, number>>;
};

type Dependencies = {
  readonly slots: Pick<DeliverySlots, 'acquire' | 'isProven'>;
  /** A monotonic clock, ms. */
  readonly nowMs: () => number;
  readonly scale: number;
};

/**
 * The gate before every attempt: the breaker and the slots of its receiver (client app and origin).
 *
 * @example
 * const leave = await gate.admit(clientId, callbackUrl, body.length);
 * if (leave.end) leave.end('healthy');
 */
export function makeAttemptGate({ slots, nowMs, scale }: Dependencies): AttemptGate {
  const breakers = new PerReceiver({
    make: () => makeBreaker(scale),
    // Whoever is attempting with it records into it all the same; only what is remembered begins anew.
    isIdle: () => true,
  });
  return {
    async admit(clientId, callbackUrl, bytes) {
      const { origin } = new URL(callbackUrl);
      const breaker = breakers.of(clientId, origin);
      if (breaker.state(nowMs()) === 'open') return { reason: 'breaker' };
      const slot = await slots.acquire(clientId, origin, bytes);
      if (slot === undefined) return { reason: slots.isProven(clientId, origin) ? 'slots' : 'hanging' };
      // Asked last, because a probe that was admitted must be made; it may have opened during the wait.
      const admission = breaker.admit(nowMs());
      if (admission === undefined) {
        slot.release(undefined);
        return { reason: 'breaker' };
      }
      return {
        end(verdict) {
          breaker.record(admission, verdict === 'unknown' ? undefined : verdict === 'failing', nowMs());
          slot.release(verdict === 'unknown' ? undefined : verdict === 'healthy');
        },
      };
    },
    breakerCounts() {
      const counts = { closed: 0, open: 0, 'half-open': 0 };
      for (const breaker of breakers.values()) counts[breaker.state(nowMs())] += 1;
      return counts;
    },
  };
}
