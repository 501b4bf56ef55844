import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import type { PauseReason, Watch } from '#shared/contracts/watches/watch.ts';
import type { ChargeWatch } from './watch-quota.ts';

type Dependencies = {
  readonly chargeWatch: ChargeWatch;
  readonly readLimits: (clientId: string) => Promise<AppAccess['limits'] | undefined>;
  readonly pause: (watch: Watch, reason: PauseReason) => Promise<void>;
};

/** The checks to charge. */
type Charge = {
  readonly count: number;
  /** Such as `2026-11`. */
  readonly month: string;
  /** The checks were already evaluated, so as many as the quota still allows are charged. */
  readonly areEvaluated?: boolean;
};

/**
 * Charges checks of a watch; none where they are free, which is refused only where the account's
 * bytes of the day are used up.
 *
 * @returns false if not all were charged: the app was deleted, or quota or bytes are used up and
 *   the watch was paused
 */
export const makeChargeChecks =
  ({ chargeWatch, readLimits, pause }: Dependencies) =>
  async (watch: Watch, charge: Charge): Promise<boolean> => {
    const { clientId, accountId, quotaShare } = watch;
    const limits = await readLimits(clientId);
    if (limits === undefined) return false;
    const { requestsPerMonth } = limits;
    const outcome = await chargeWatch({ clientId, accountId, quotaShare, requestsPerMonth, ...charge });
    if (outcome !== 'charged') await pause(watch, outcome);
    return outcome === 'charged';
  };
