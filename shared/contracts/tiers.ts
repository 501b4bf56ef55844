import { type Account, type AppLimits, LIVE_KEYS_MAX, type Tier } from './client-app.ts';

export type TierLimits = {
  readonly requestsPerSecond: number;
  readonly requestsPerMonth: number;
  readonly clientApps: number;
  readonly marketplaceKeys: number;
  /** API keys of one app that can be used, marketplace keys included. */
  readonly liveKeys: number;
};

/** What each tier allows; an enterprise account may have figures of its own. */
const TIERS: Record<Tier, TierLimits> = {
  free: {
    requestsPerSecond: 10,
    requestsPerMonth: 10_000,
    clientApps: 5,
    marketplaceKeys: 5,
    liveKeys: 20,
  },
  paid: {
    requestsPerSecond: 15,
    requestsPerMonth: 1_000_000,
    clientApps: 500,
    marketplaceKeys: 500,
    liveKeys: 600,
  },
  enterprise: {
    requestsPerSecond: 500,
    requestsPerMonth: 100_000_000,
    clientApps: 10_000,
    marketplaceKeys: 10_000,
    liveKeys: LIVE_KEYS_MAX,
  },
};

/**
 * @example
 * limitsOf({ tier: 'free' }).requestsPerSecond; // 10
 */
export function limitsOf({ tier, limits }: Pick<Account, 'tier' | 'limits'>): TierLimits {
  if (tier !== 'enterprise') return TIERS[tier];
  // Figures that were set before there was a limit of live keys have none.
  return { ...TIERS.enterprise, ...limits, liveKeys: limits?.liveKeys ?? TIERS.enterprise.liveKeys };
}

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

/** What the gateway needs to know of an account: the limits of each of its apps. */
export function appLimitsOf(account: Pick<Account, 'tier' | 'limits'>): AppLimits {
  const { requestsPerSecond, requestsPerMonth } = limitsOf(account);
  return { tier: account.tier, requestsPerSecond, requestsPerMonth };
}
