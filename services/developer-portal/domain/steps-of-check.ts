import type { LoggedCheck } from '#shared/contracts/checks/check-log.ts';

/** The attempts of a webhook, as far as the steps need them. */
type Delivered = {
  readonly attempts: readonly { readonly at: string; readonly durationMs: number; readonly class: string }[];
};

/** The steps of a check in order, each with the time from the acceptance until it was reached, in ms. */
type CheckStep = {
  readonly name: 'accepted' | 'started' | 'evaluated' | 'stored' | 'delivered';
  readonly afterMs: number;
};

/**
 * The steps that a check has reached, with their times. A step without a known time is left out.
 *
 * @example
 * stepsOfCheck({ ...check, waitedMs: 2, durationMs: 12, storedMs: 14 }, undefined);
 * // accepted 0, started 2, evaluated 12, stored 14
 */
export function stepsOfCheck(check: LoggedCheck, delivery: Delivered | undefined): CheckStep[] {
  const delivered = delivery?.attempts.find((attempt) => attempt.class === 'delivered');
  const times: [CheckStep['name'], number | undefined][] = [
    ['accepted', 0],
    ['started', check.waitedMs],
    ['evaluated', check.durationMs],
    ['stored', check.storedMs],
    ['delivered', delivered && Date.parse(delivered.at) + delivered.durationMs - check.acceptedAtMs],
  ];
  return times.flatMap(([name, afterMs]) =>
    afterMs === undefined ? [] : [{ name, afterMs: Math.max(0, Math.round(afterMs)) }],
  );
}
