import type { TierLimits } from '#shared/contracts/apps/tiers.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';

/** Writes of rule sets, watches or members, of those that an app may make in a day. */
export const writeOfDay = (
  clientId: string,
  { writesPerDay }: Pick<TierLimits, 'writesPerDay'>,
  count = 1,
) => ({
  budget: { name: 'document-writes', countMax: writesPerDay, windowMs: DAY_MS },
  owner: clientId,
  count,
});
