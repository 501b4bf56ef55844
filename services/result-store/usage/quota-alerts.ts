import { alertEndsAt } from '../../../shared/contracts/usage/quota-alert.ts';
import { inStore, type Redis } from '../../../shared/redis/connect.ts';

const keyOf = (clientId: string, month: string): string => `quota-alerted:{${clientId}}:${month}`;

/**
 * The highest threshold of a month's quota for which an app got an alert. It saves the work of sending it again; that an app is
 * told once is decided by the id of the delivery, so the mark is not rebuilt after a loss.
 */
export type QuotaAlerts = {
  /** 0 if none was reached. */
  readonly readSent: (clientId: string, month: string) => Promise<number>;
  readonly markSent: (clientId: string, month: string, threshold: number) => Promise<void>;
};

/**
 * @example
 * if ((await makeQuotaAlerts(redis).readSent('app_1', '2026-11')) < 80) await tell();
 */
export const makeQuotaAlerts = (redis: Redis): QuotaAlerts => ({
  readSent: (clientId, month) => inStore(async () => Number((await redis.get(keyOf(clientId, month))) ?? 0)),
  markSent: (clientId, month, threshold) =>
    inStore(
      async () => void (await redis.set(keyOf(clientId, month), threshold, 'PXAT', alertEndsAt(month))),
    ),
});
