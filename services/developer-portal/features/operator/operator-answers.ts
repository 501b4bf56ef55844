import { z } from 'zod';
import { Tier } from '#shared/contracts/apps/client-app.ts';
import { BatchSummary } from '#shared/stores/batches/batch-list.ts';
import { AuditEntry, accountMembers, KeyAnswer, Limits, ScopeAnswer } from '../../http/api-answers.ts';

/** Schemas of the answers to operators. */

const instant = z.iso.datetime();
const count = z.number().int().nonnegative();

export const ScopeRequestList = z.array(
  z
    .object({
      clientId: z.string(),
      name: z.string(),
      email: z.string(),
      purpose: z.string(),
      requestedAt: instant,
    })
    .meta({ id: 'PendingScope' }),
);

export const OperatorAccount = z
  .object({
    ...accountMembers,
    /** How many client apps it has. */
    apps: count,
  })
  .meta({ id: 'OperatorAccount' });
/** The cursor of the next page. A page may be empty and have it: a page looks at a bounded number of documents. */
const next = z.string().optional();
export const OperatorAccountPage = z
  .object({ accounts: z.array(OperatorAccount), next })
  .meta({ id: 'OperatorAccountPage' });

export const OperatorApp = z
  .object({
    clientId: z.string(),
    name: z.string(),
    accountId: z.string(),
    email: z.string(),
    tier: Tier,
    suspended: z.boolean(),
    scope: ScopeAnswer,
  })
  .meta({ id: 'OperatorApp' });
export const OperatorAppPage = z.object({ apps: z.array(OperatorApp), next }).meta({ id: 'OperatorAppPage' });

const Month = z.object({
  /** The calendar month (UTC): `2026-11`. */
  name: z.string(),
  /** Checks as the limiter counts them. */
  used: count,
  quota: count,
});
export const OperatorAccountDetail = z
  .object({
    accountId: z.string(),
    email: z.string(),
    tier: Tier,
    operator: z.boolean(),
    /** Whether an operator made the account or vouched for its owner. */
    verified: z.boolean(),
    createdAt: instant,
    limits: Limits,
    twoFactor: z.object({ enabledAt: instant, recoveryCodesLeft: count }).optional(),
    /** Live sessions. */
    sessions: count,
    /** How many client apps it has. */
    apps: count,
    /** Of at most 100 of its apps, the oldest first. */
    clientApps: z.array(OperatorApp.extend({ month: Month }).meta({ id: 'OperatorAppOfAccount' })),
  })
  .meta({ id: 'OperatorAccountDetail' });
export const OperatorAppDetail = OperatorApp.extend({
  createdAt: instant,
  limits: Limits,
  month: Month,
  keys: z.array(KeyAnswer),
  /** Of the newest 100 webhooks. */
  webhooks: z.object({ pending: count, delivered: count, exhausted: count, stopped: count }),
  /** The newest 10. */
  batches: z.array(BatchSummary),
  /** At most 25, by id. */
  watches: z.array(
    z.object({
      watchId: z.string(),
      state: z.enum(['active', 'paused', 'held']),
      members: count,
      ruleSet: z.string(),
    }),
  ),
}).meta({ id: 'OperatorAppDetail' });

export const OperatorAuditPage = z
  .object({
    entries: z.array(
      AuditEntry.extend({
        accountId: z.string(),
        /** Absent if the account is gone. */
        email: z.string().optional(),
        clientId: z.string().optional(),
      }).meta({ id: 'OperatorAuditEntry' }),
    ),
    next,
  })
  .meta({ id: 'OperatorAuditPage' });

export const DeadLetterCounts = z.array(
  z.object({ topic: z.string(), count }).meta({ id: 'DeadLetterCount' }),
);
