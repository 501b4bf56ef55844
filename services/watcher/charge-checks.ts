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
  /** They were made already: the rest of the quota is charged. */
  readonly areMade?: boolean;
};

/** Charges checks of a watch; false where not all were charged: the app is gone, or the quota is used and the watch was paused. */
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
