import type { LoggedCheck } from '#shared/contracts/checks/check-log.ts';

/** The attempts of a webhook, as far as the steps need them. */
type Delivered = {
  readonly attempts: readonly { readonly at: string; readonly durationMs: number; readonly class: string }[];
};

/**
 * The steps that a check has reached, in order, each with the time from the acceptance until then,
 * in ms. A step without a known time is left out.
 *
 * @example
 * stepsOfCheck({ ...check, waitedMs: 2, durationMs: 12, storedMs: 14 }, undefined);
 * // accepted 0, started 2, evaluated 12, stored 14
 */
export function stepsOfCheck(check: LoggedCheck, delivery: Delivered | undefined) {
  const delivered = delivery?.attempts.find((attempt) => attempt.class === 'delivered');
  const times = [
    ['accepted', 0],
    ['started', check.waitedMs],
    ['evaluated', check.durationMs],
    ['stored', check.storedMs],
    ['delivered', delivered && Date.parse(delivered.at) + delivered.durationMs - check.acceptedAtMs],
  ] as const;
  return times.flatMap(([name, afterMs]) =>
    afterMs === undefined ? [] : [{ name, afterMs: Math.max(0, Math.round(afterMs)) }],
  );
}
