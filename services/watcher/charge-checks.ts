import type { AppAccess } from '#shared/contracts/client-app.ts';
import type { Watch } from '#shared/contracts/watch.ts';
import type { ChargeWatch } from '#shared/redis/watch-quota.ts';

type Dependencies = {
  readonly chargeWatch: ChargeWatch;
  readonly readLimits: (clientId: string) => Promise<AppAccess['limits'] | undefined>;
  readonly pause: (watch: Watch, reason: 'quota-exceeded' | 'quota-share-exceeded') => Promise<void>;
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
 * Charges checks of a watch.
 *
 * @returns false if not all were charged: the app was deleted, or the quota is used up and the watch was paused
 */
export const makeChargeChecks =
  ({ chargeWatch, readLimits, pause }: Dependencies) =>
  async (watch: Watch, charge: Charge): Promise<boolean> => {
    const { clientId, quotaShare } = watch;
    const limits = await readLimits(clientId);
    if (limits === undefined) return false;
    const { requestsPerMonth } = limits;
    const outcome = await chargeWatch({ clientId, quotaShare, requestsPerMonth, ...charge });
    if (outcome !== 'charged') await pause(watch, outcome);
    return outcome === 'charged';
  };
