import { z } from 'zod';
import { AuditEntry, count, Month } from '../../http/api.ts';
import type { Declaration } from '../../http/operation.ts';

/** Milliseconds from acceptance to the result; absent if nothing was done. */
const percentile = z.number().nonnegative().nullable();
const UsageFigures = {
  /** Checks by mode. */
  sync: count,
  poll: count,
  webhook: count,
  /** Entries of batches. */
  batch: count,
  /** Checks by outcome. */
  completed: count,
  failed: count,
  /** Rules by outcome. */
  granted: count,
  denied: count,
  undetermined: count,
  /** Of the undetermined rules: because of the rule, and because of an endpoint or the service.
   * Those of batches are in neither. */
  undeterminedClient: count,
  undeterminedService: count,
  /** Requests answered 429. */
  refused: count,
  /** Bytes that the app made the system keep, counted on the day when they were written; 0 for an
   * hour. */
  bytes: count,
  p50Ms: percentile,
  p95Ms: percentile,
};
const UsageDay = z.object({
  /** UTC: `2026-11-21`. */
  date: z.iso.date(),
  ...UsageFigures,
});
const UsageHour = z.object({
  /** UTC: `2026-11-21T10`. */
  hour: z.string(),
  ...UsageFigures,
});
export const USAGE_OPERATIONS = {
  readUsage: {
    call: 'GET /api/apps/:clientId/usage',
    summary: 'This month against the quota, and the last 30 days; a check counts once it has its result',
    answer: z.object({
      month: Month,
      /** Bytes that all apps of the account have made the system keep today (UTC), and the most that
       * they may. */
      today: z.object({ bytes: count, bytesMax: count }),
      /** The last 30 days, oldest first. */
      days: z.array(UsageDay),
      /** The last 48 hours, oldest first. */
      hours: z.array(UsageHour),
      /** Checks of these days by API key, the most used first; `other` stands for keys beyond a day's
       * bound. */
      keys: z.array(z.object({ keyId: z.string(), checks: count })),
      totals: z.object({
        refused: count,
        undeterminedClient: count,
        undeterminedService: count,
        /** Of all rules, from 0 to 1. */
        undeterminedShare: z.number().min(0).max(1),
        p50Ms: percentile,
        p95Ms: percentile,
      }),
    }),
  },
  readAppAudit: {
    call: 'GET /api/apps/:clientId/audit',
    summary: 'The audit entries of a client app, newest first',
    answer: z.array(AuditEntry),
  },
  readAccountAudit: {
    call: 'GET /api/audit',
    summary: 'The audit entries of the account and its apps, newest first',
    isHeavy: true,
    answer: z.array(AuditEntry),
  },
} as const satisfies Record<string, Declaration>;
