import { type Account, AppLimits, LIMITS_MAX, type Tier, type TierLimits } from './client-app.ts';

/**
 * What an account may make the system keep on one day (UTC): for each of its approved apps, up to
 * `appsMax`, `perCheck` bytes for each check of a day's share of the monthly quota, and at least
 * `min`. The quota itself does not bound it, because a check that decided nothing is refunded. A
 * webhook check of three rules has about 4 KB, with its attempt.
 */
export const DAY_BYTES = { perCheck: 8_192, daysOfQuota: 30, appsMax: 10, min: 32 * 1024 * 1024 } as const;

/** The limits of each tier; an enterprise account may have limits of its own. */
const TIERS: Record<Tier, TierLimits> = {
  free: {
    requestsPerSecond: 10,
    requestsPerMonth: 10_000,
    clientApps: 5,
    marketplaceKeys: 5,
    liveKeys: 20,
    ruleSets: 10,
    watches: 1,
    watchMembers: 1_000,
    writesPerDay: 10_000,
  },
  paid: {
    requestsPerSecond: 15,
    requestsPerMonth: 1_000_000,
    clientApps: 500,
    marketplaceKeys: 500,
    liveKeys: 600,
    ruleSets: 100,
    watches: 20,
    watchMembers: 100_000,
    writesPerDay: 1_000_000,
  },
  enterprise: {
    requestsPerSecond: 500,
    requestsPerMonth: 100_000_000,
    clientApps: 10_000,
    marketplaceKeys: 10_000,
    liveKeys: LIMITS_MAX.liveKeys,
    ruleSets: 1_000,
    watches: 1_000,
    watchMembers: 1_000_000,
    writesPerDay: 10_000_000,
  },
};

export const limitsOf = ({ tier, limits }: Pick<Account, 'tier' | 'limits'>): TierLimits =>
  (tier === 'enterprise' && limits) || TIERS[tier];

/** An enterprise account's own limits; an absent limit has the tier's default. */
export function enterpriseLimits(
  given: {
    readonly [Name in keyof TierLimits]?: number | undefined;
  },
): TierLimits {
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...TIERS.enterprise, ...known };
}

export const appLimitsOf = (account: Pick<Account, 'tier' | 'limits'>): AppLimits =>
  AppLimits.parse({ tier: account.tier, ...limitsOf(account) });

export type StorageLimits = Pick<TierLimits, 'ruleSets' | 'watches' | 'watchMembers' | 'writesPerDay'>;
