import type { Account, AppLimits, Tier } from '#shared/contracts/client-app.ts';

export type TierLimits = {
  readonly requestsPerSecond: number;
  readonly requestsPerMonth: number;
  readonly clientApps: number;
  readonly marketplaceKeys: number;
};

/** What each tier allows; an enterprise account may have figures of its own. */
const TIERS: Record<Tier, TierLimits> = {
  free: { requestsPerSecond: 10, requestsPerMonth: 10_000, clientApps: 5, marketplaceKeys: 5 },
  paid: { requestsPerSecond: 15, requestsPerMonth: 1_000_000, clientApps: 500, marketplaceKeys: 500 },
  enterprise: {
    requestsPerSecond: 500,
    requestsPerMonth: 100_000_000,
    clientApps: 10_000,
    marketplaceKeys: 10_000,
  },
};

/**
 * @example
 * limitsOf({ tier: 'free' }).requestsPerSecond; // 10
 */
export const limitsOf = ({ tier, limits }: Pick<Account, 'tier' | 'limits'>): TierLimits =>
  tier === 'enterprise' ? { ...TIERS.enterprise, ...limits } : TIERS[tier];

/**
 * An enterprise account's own figures, what is left out by the tier's default.
 *
 * @example
 * figuresWith({ clientApps: 3 }).requestsPerSecond; // 500
 */
export function figuresWith(
  given: {
    readonly [Name in keyof TierLimits]?: number | undefined;
  },
): NonNullable<Account['limits']> {
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...TIERS.enterprise, ...known };
}

/** The copy of an account's limits that its apps carry. */
export function appLimitsOf(account: Pick<Account, 'tier' | 'limits'>): AppLimits {
  const { requestsPerSecond, requestsPerMonth } = limitsOf(account);
  return { tier: account.tier, requestsPerSecond, requestsPerMonth };
}
