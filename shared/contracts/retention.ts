/**
 * Topics by how long they keep their records: days, and the least that the rest of the system needs.
 *
 * | class | holds | the least, because |
 * | --- | --- | --- |
 * | `checks` | requests, results and orders, webhooks on their way | a rebuild needs the results that are kept |
 * | `attempts` | attempts of webhooks | a delivery ends within 41 hours, and is shown for 72 more |
 * | `usage` | totals of apps | a rebuild needs those of the month |
 * | `audit` | who did what | the trail in Redis is made from it |
 * | `deadLetters` | records that failed | somebody must be able to look at them |
 */
export const RETENTION_DAYS = {
  checks: { default: 7, min: 7 },
  attempts: { default: 30, min: 5 },
  usage: { default: 40, min: 40 },
  audit: { default: 400, min: 90 },
  deadLetters: { default: 30, min: 1 },
} as const;

export type RetentionClass = keyof typeof RETENTION_DAYS;

/** How long a compacted topic may keep a record that a newer one of its key has replaced, or
 * erased. */
export const SUPERSEDED_HOURS = { default: 24, min: 1 } as const;

/** Days of each class, and hours of superseded records. */
export type Retention = Readonly<Record<RetentionClass, number>> & { readonly supersededHours: number };
