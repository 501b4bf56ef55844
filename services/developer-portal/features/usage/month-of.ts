import type { Account } from '#shared/contracts/apps/client-app.ts';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import { dateOf, dayOf } from '#shared/stores/usage/usage-days.ts';
import type { Work } from '../work.ts';

/** The checks of an app in this calendar month (UTC), as the limiter counts them, and its quota. */
export async function monthOf(
  { readMonthUsed, now }: Pick<Work, 'readMonthUsed' | 'now'>,
  clientId: string,
  owner: Account | undefined,
) {
  const name = dateOf(dayOf(now())).slice(0, 7);
  const used = await readMonthUsed(clientId, name);
  return { name, used, quota: owner ? limitsOf(owner).requestsPerMonth : 0 };
}
