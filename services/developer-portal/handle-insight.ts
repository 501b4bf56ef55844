import { limitsOf } from '#shared/contracts/tiers.ts';
import type { AuditTrail } from '#shared/redis/audit-trail.ts';
import { dateOf, dayOf, type UsageDays } from '#shared/redis/usage-days.ts';
import type { Handlers } from './call.ts';
import { addFigures, summariseDay, undeterminedShareOf } from './domain/summarise-usage.ts';
import type { ReadOwn } from './handle-apps.ts';
import { presentAudit } from './present.ts';

const DAYS = 30;
const AUDIT_COUNT_MAX = 200;

export type Dependencies = {
  readonly readOwn: ReadOwn;
  readonly usageDays: Pick<UsageDays, 'read'>;
  readonly readMonthUsed: (clientId: string, month: string) => Promise<number>;
  readonly auditTrail: Pick<AuditTrail, 'ofAccount' | 'ofApp'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** What developers see of what was done, by their apps and to them. */
export function makeInsightHandlers(
  deps: Dependencies,
): Handlers<'readUsage' | 'readAppAudit' | 'readAccountAudit'> {
  const { readOwn, usageDays, readMonthUsed, auditTrail, now } = deps;
  return {
    async readUsage({ account, param }) {
      const app = await readOwn(account, param('clientId'));
      const today = dayOf(now());
      const days = Array.from({ length: DAYS }, (_, i) => today - DAYS + 1 + i);
      const month = dateOf(today).slice(0, 7);
      const [figures, used] = await Promise.all([
        usageDays.read(app.clientId, days),
        readMonthUsed(app.clientId, month),
      ]);
      const { refused, p50Ms, p95Ms, ...rest } = summariseDay(addFigures(figures));
      return {
        month: { name: month, used, quota: limitsOf(account).requestsPerMonth },
        days: figures.map((day, i) => ({ date: dateOf(days[i] ?? today), ...summariseDay(day) })),
        totals: {
          refused,
          undeterminedShare: undeterminedShareOf({ ...rest, refused, p50Ms, p95Ms }),
          p50Ms,
          p95Ms,
        },
      };
    },
    async readAppAudit({ account, param }) {
      const { clientId } = await readOwn(account, param('clientId'));
      return (await auditTrail.ofApp(clientId, AUDIT_COUNT_MAX)).map((entry) => presentAudit(entry, account));
    },
    async readAccountAudit({ account }) {
      const entries = await auditTrail.ofAccount(account.accountId, AUDIT_COUNT_MAX);
      // What was done under an account of the same address that was deleted is not this one's.
      return entries.filter(({ at }) => at >= account.createdAt).map((entry) => presentAudit(entry, account));
    },
  };
}
