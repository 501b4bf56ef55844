import type { Account, Tier } from '#shared/contracts/apps/client-app.ts';
import { DAY_MS, MINUTE_MS } from '#shared/contracts/durations.ts';
import type { Draw } from '#shared/fairness/throttle.ts';
import type { Operation } from './operation.ts';

type WriteLimits = { readonly perMinute: number; readonly perDay: number };

/**
 * Limits on an account's writes through the portal: every write costs a record in Kafka and, for a
 * while, memory in Redis. Removals have their own budget, so that used-up writes never keep an
 * account from revoking a key.
 */
export const WRITE_LIMITS: Readonly<Record<Tier, WriteLimits>> = {
  free: { perMinute: 120, perDay: 2_000 },
  paid: { perMinute: 300, perDay: 20_000 },
  enterprise: { perMinute: 1_200, perDay: 200_000 },
};

/**
 * Limit on an account's reads of its apps, because one may read thousands of records. The portal's
 * page reads at most once in 1.5 s while it follows something.
 */
const READS_PER_MINUTE = 1_200;
const APPS_PATH = '/api/apps';

/**
 * Whether an operation is charged to its account's budgets: the writes of a session, its reads of
 * apps and its heavy reads. Operator operations are not charged.
 */
export const isBudgeted = ({ access, method, path, isHeavy }: Operation): boolean =>
  access === 'session' && (method !== 'get' || path.startsWith(APPS_PATH) || isHeavy === true);

/** The charges of an operation to its account's budgets. */
export function accountDraws(
  operation: Operation,
  { accountId, tier }: Pick<Account, 'accountId' | 'tier'>,
): Draw[] {
  if (!isBudgeted(operation)) return [];
  const draw = (name: string, countMax: number, windowMs: number): Draw => ({
    budget: { name, countMax, windowMs },
    owner: accountId,
  });
  if (operation.method === 'get') return [draw('reads-minute', READS_PER_MINUTE, MINUTE_MS)];
  const kind = operation.method === 'delete' || operation.endsSomething ? 'removals' : 'writes';
  const { perMinute, perDay } = WRITE_LIMITS[tier];
  return [draw(`${kind}-minute`, perMinute, MINUTE_MS), draw(`${kind}-day`, perDay, DAY_MS)];
}
