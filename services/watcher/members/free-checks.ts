import { HOUR_MS } from '#shared/contracts/durations.ts';
import type { Watch } from '#shared/contracts/watches/watch.ts';
import type { Budget, Draw } from '#shared/fairness/throttle.ts';

/** Checks of an account that transfers ask for. Beyond them, its watches are swept instead. */
export const TRANSFER_CHECKS: Budget = { name: 'transfer-checks', countMax: 100_000, windowMs: HOUR_MS };
/** Checks of an account's members that are owed one: as many as 166 000 members cause that are asked
 * again every 10 minutes while a chain cannot be read. */
export const OWED_CHECKS: Budget = { name: 'owed-checks', countMax: 1_000_000, windowMs: HOUR_MS };

export const drawsOf = (budget: Budget, { accountId }: Watch, count: number): readonly Draw[] => [
  { budget, owner: accountId, count },
];
