import { LRUCache } from 'lru-cache';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import {
  alertEndsAt,
  deliveryOfAlert,
  type QuotaAlert,
  reachedThresholds,
} from '#shared/contracts/usage/quota-alert.ts';
import type { Usage } from '#shared/contracts/usage/usage.ts';
import { webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import type { Dependencies } from '../dependencies.ts';

/** Apps by month whose last alert is remembered, so that it is not published again. */
const REMEMBERED_MAX = 100_000;

/**
 * Sends an alert to an app with an alert URL when it has used 80 % and 100 % of its monthly quota.
 *
 * Each process publishes an alert once. An alert that another process repeats has the same id: the
 * first one is saved, and the dispatcher delivers an id once.
 *
 * @throws ServiceError if Redis or the broker is away: the next total tries it again
 */
export function makeAlertQuota({
  clientApps,
  accounts,
  kafka,
}: Dependencies): (usage: Usage) => Promise<void> {
  const alerted = new LRUCache<string, number>({ max: REMEMBERED_MAX });
  return async function alertQuota({ clientId, month, monthTotal, asOf }) {
    // Totals of an ended month come in its last minutes: it is too late to act on them.
    if (monthTotal === 0 || Date.parse(asOf) >= alertEndsAt(month)) return;
    const app = await clientApps.read(clientId);
    if (app?.alertUrl === undefined || app.deletedAt !== undefined) return;
    const owner = await accounts.read(app.accountId);
    const quota = owner ? limitsOf(owner).requestsPerMonth : app.limits.requestsPerMonth;
    const key = `${clientId} ${month}`;
    for (const threshold of reachedThresholds(monthTotal, quota, alerted.get(key) ?? 0)) {
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
      alerted.set(key, threshold);
    }
  };
}
