import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import {
  alertEndsAt,
  deliveryOfAlert,
  type QuotaAlert,
  reachedThresholds,
} from '#shared/contracts/usage/quota-alert.ts';
import type { Usage } from '#shared/contracts/usage/usage.ts';
import { webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Sends an alert to an app with an alert URL when it has used 80 % and 100 % of its monthly quota.
 *
 * The alert is published, then marked. An alert that is repeated after a crash has the same id: the
 * first one is saved, and the dispatcher delivers an id once.
 *
 * @throws ServiceError if Redis or the broker is away: the next total tries it again
 */
export function makeAlertQuota(
  { clientApps, accounts, kafka }: Dependencies,
  quotaAlerts: ReturnType<typeof makeQuotaAlerts>,
): (usage: Usage) => Promise<void> {
  return async function alertQuota({ clientId, month, monthTotal, asOf }) {
    // Totals of an ended month come in its last minutes: it is too late to act on them.
    if (monthTotal === 0 || Date.parse(asOf) >= alertEndsAt(month)) return;
    const app = await clientApps.read(clientId);
    if (app?.alertUrl === undefined || app.deletedAt !== undefined) return;
    const owner = await accounts.read(app.accountId);
    const quota = owner ? limitsOf(owner).requestsPerMonth : app.limits.requestsPerMonth;
    const sent = await quotaAlerts.readSent(clientId, month);
    for (const threshold of reachedThresholds(monthTotal, quota, sent)) {
      const alert: QuotaAlert = {
        type: 'quota.threshold',
        clientId,
        month,
        threshold,
        used: monthTotal,
        quota,
        at: asOf,
      };
      await kafka.publish(webhookRequested, deliveryOfAlert(alert, app.accountId, app.alertUrl));
      await quotaAlerts.markSent(clientId, month, threshold);
    }
  };
}

const keyOf = (clientId: string, month: string): string => `quota-alerted:{${clientId}}:${month}`;

/**
 * The highest threshold of a month's quota for which an app got an alert. It saves the work of
 * sending it again; that an app is told once is decided by the id of the delivery, so the mark is
 * not rebuilt after a loss.
 */
export const makeQuotaAlerts = (redis: Redis) => ({
  /** 0 if none was reached. */
  readSent: (clientId: string, month: string): Promise<number> =>
    inStore(async () => Number((await redis.get(keyOf(clientId, month))) ?? 0)),
  markSent: (clientId: string, month: string, threshold: number): Promise<void> =>
    inStore(
      async () => void (await redis.set(keyOf(clientId, month), threshold, 'PXAT', alertEndsAt(month))),
    ),
});
