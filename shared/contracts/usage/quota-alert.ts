import { hash } from 'node:crypto';
import { z } from 'zod';
import { DAY_MS, monthEndsAt } from '../durations.ts';
import { firstDelivery, type NewWebhook } from '../webhooks/webhook.ts';

/** Shares of a month's quota, in percent, at which an app gets an alert, lowest first. */
const QUOTA_THRESHOLDS = [80, 100] as const;
type QuotaThreshold = (typeof QUOTA_THRESHOLDS)[number];

/** The body of the webhook that tells an app how much of its month is used up. */
export const QuotaAlert = z.object({
  type: z.literal('quota.threshold'),
  clientId: z.string(),
  /** The calendar month (UTC): `2026-11`. */
  month: z.string().regex(/^\d{4}-\d{2}$/),
  /** The reached share of the quota, in percent. */
  threshold: z.union([z.literal(80), z.literal(100)]),
  /** Checks that were charged when this was noticed. */
  used: z.number().int().nonnegative(),
  quota: z.number().int().positive(),
  at: z.iso.datetime(),
});
export type QuotaAlert = z.infer<typeof QuotaAlert>;

/** The reached thresholds above `sent`, lowest first. */
export const reachedThresholds = (used: number, quota: number, sent: number): QuotaThreshold[] =>
  QUOTA_THRESHOLDS.filter((threshold) => threshold > sent && used * 100 >= quota * threshold);

export const QUOTA_ALERT_PREFIX = 'quota_';
const ID_CHARS = 32;

/** The id of the alert's delivery: the same however often it is published, so it is sent once a
 * month and threshold. */
export const quotaAlertId = ({
  clientId,
  month,
  threshold,
}: Pick<QuotaAlert, 'clientId' | 'month' | 'threshold'>): string =>
  `${QUOTA_ALERT_PREFIX}${hash('sha256', `${clientId}/${month}/${threshold}`).slice(0, ID_CHARS)}`;

/** Until when an alert is kept: as long as its month, so that a copy finds that it was sent. Epoch
 * ms. */
export const alertEndsAt = (month: string): number => monthEndsAt(month) + DAY_MS;

/** The alert as a delivery that waits for its first attempt. */
export function deliveryOfAlert(alert: QuotaAlert, accountId: string, callbackUrl: string): NewWebhook {
  const about = { requestId: quotaAlertId(alert), clientId: alert.clientId, accountId, callbackUrl };
  const retainUntil = new Date(alertEndsAt(alert.month)).toISOString();
  return firstDelivery(
    { ...about, acceptedAt: alert.at, retainUntil },
    { resultJson: JSON.stringify(alert) },
  );
}
