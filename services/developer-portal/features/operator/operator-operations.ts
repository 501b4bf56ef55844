import { z } from 'zod';
import { Audit } from '#shared/contracts/apps/audit.ts';
import { ClientApp, Tier, TierLimits } from '#shared/contracts/apps/client-app.ts';
import { EndpointReport } from '#shared/contracts/chain-report.ts';
import { PresentedWatch } from '#shared/contracts/watches/presented-watch.ts';
import { AUDIT_POSITION } from '#shared/stores/audit/audit-trail.ts';
import { BatchSummary } from '#shared/stores/batches/batches.ts';
import {
  accountMembers,
  count,
  EMAIL_CHARS_MAX,
  Instant,
  instant,
  KeyAnswer,
  Limits,
  lines,
  Month,
  next,
  PageLimit,
  REASON_CHARS_MAX,
  ScopeAnswer,
  TwoFactor,
} from '../../http/api.ts';
import type { Declaration } from '../../http/operation.ts';

/** A part of an e-mail address or of a name, or a whole id. */
const SearchText = z.string().max(EMAIL_CHARS_MAX).trim().optional();
/** The `next` of the page before. */
const SearchCursor = z
  .string()
  .regex(/^[0-9]{1,20}$/)
  .optional();
export const OperatorAccount = z.object({
  ...accountMembers,
  apps: count,
});
export const OperatorApp = ClientApp.pick({ clientId: true, name: true, accountId: true, suspended: true })
  .extend({ email: z.string(), tier: Tier, scope: ScopeAnswer })
  .meta({ id: 'OperatorApp' });
export const OPERATOR_OPERATIONS = {
  listScopeRequests: {
    call: 'GET /api/operator/scope-requests',
    summary: 'Apps that wait for the scope, the longest-waiting first',
    answer: z.array(
      z.object({
        clientId: z.string(),
        name: z.string(),
        email: z.string(),
        purpose: z.string(),
        requestedAt: instant,
      }),
    ),
  },
  approveScope: {
    call: 'POST /api/operator/apps/:clientId/approve',
    summary: 'Approve the scope of an app',
    answer: OperatorApp,
  },
  rejectScope: {
    call: 'POST /api/operator/apps/:clientId/reject',
    summary: 'Reject the scope of an app, with a reason for its developer',
    body: z.strictObject({ reason: lines(REASON_CHARS_MAX) }),
    answer: OperatorApp,
  },
  suspendApp: {
    call: 'POST /api/operator/apps/:clientId/suspend',
    summary: "Refuse an app's requests until it is resumed",
    answer: OperatorApp,
  },
  resumeApp: {
    call: 'POST /api/operator/apps/:clientId/resume',
    summary: 'End a suspension',
    answer: OperatorApp,
  },
  listAccounts: {
    call: 'GET /api/operator/accounts',
    summary: 'Find accounts by a part of their e-mail address or by their id; a page looks at 5 000 accounts',
    query: z.strictObject({ query: SearchText, after: SearchCursor }),
    answer: z.object({ accounts: z.array(OperatorAccount), next }),
  },
  readOperatorAccount: {
    call: 'GET /api/operator/accounts/:accountId',
    summary: "An account with its limits, and its apps with this month's checks",
    answer: z.object({
      ...accountMembers,
      /** Whether an operator made the account or vouched for its owner. */
      verified: z.boolean(),
      createdAt: instant,
      twoFactor: TwoFactor,
      sessions: count,
      apps: count,
      /** Of at most 100 of its apps, the oldest first. */
      clientApps: z.array(OperatorApp.extend({ month: Month })),
    }),
  },
  setTier: {
    call: 'POST /api/operator/accounts/:accountId/tier',
    summary: 'Set the tier of an account and the limits of all its apps',
    body: z.strictObject({
      tier: Tier,
      /** For `enterprise` only; an omitted limit is the tier's default. */
      limits: z.strictObject(TierLimits.shape).partial().optional(),
    }),
    answer: OperatorAccount,
  },
  makeResetLink: {
    call: 'POST /api/operator/accounts/:accountId/reset-link',
    summary:
      'Make a link for a new password, valid for an hour; an earlier link of the account stops working',
    status: 201,
    /** The page `/reset-password#TOKEN` sets the new password. */
    answer: z.object({ token: z.string(), expiresAt: instant }),
    codes: ['conflict'],
  },
  resetTwoFactor: {
    call: 'POST /api/operator/accounts/:accountId/two-factor/reset',
    summary: 'Turn the second factor of an account off, for somebody who lost it; all its sessions end',
    codes: ['conflict'],
  },
  listOperatorApps: {
    call: 'GET /api/operator/apps',
    summary:
      "Find client apps by a part of their name, by their id, or by their account's e-mail address; a page looks at 5 000 apps",
    query: z.strictObject({
      query: SearchText,
      after: SearchCursor,
      suspended: z
        .enum(['true', 'false'])
        .transform((text) => text === 'true')
        .optional()
        .meta({ type: 'boolean' }),
    }),
    answer: z.object({ apps: z.array(OperatorApp), next }),
  },
  readOperatorApp: {
    call: 'GET /api/operator/apps/:clientId',
    summary: "A client app with its limits, this month's checks, keys, webhooks, batches and watches",
    answer: OperatorApp.extend({
      createdAt: instant,
      limits: Limits,
      month: Month,
      keys: z.array(KeyAnswer),
      /** Of the newest 100 webhooks. */
      webhooks: z.object({ pending: count, delivered: count, exhausted: count, stopped: count }),
      /** The newest 10. */
      batches: z.array(BatchSummary),
      /** At most 25, by id. */
      watches: z.array(PresentedWatch.pick({ watchId: true, state: true, members: true, ruleSet: true })),
    }),
  },
  listAudit: {
    call: 'GET /api/operator/audit',
    summary:
      'Audit entries by account, app, action and time, newest first; a page may have fewer than `limit`',
    query: z.strictObject({
      /** An account's id or whole e-mail address. */
      account: z.string().min(1).max(EMAIL_CHARS_MAX).trim().optional(),
      app: z.string().min(1).max(64).optional(),
      action: z.string().min(1).max(64).optional(),
      since: Instant.optional(),
      until: Instant.optional(),
      after: z.string().regex(AUDIT_POSITION).optional(),
      limit: PageLimit,
    }),
    answer: z.object({
      /** `email` is absent if the account is gone. */
      entries: z.array(Audit.omit({ kind: true }).extend({ email: z.string().optional() })),
      next,
    }),
  },
  readChainReports: {
    call: 'GET /api/operator/chains',
    summary: 'What each RPC endpoint of the chain file can do, as an evaluator found it out last',
    /** `name` is absent if the portal does not know the chain file. */
    answer: z.array(
      z.object({
        chainId: z.number().int(),
        name: z.string().optional(),
        at: instant,
        endpoints: z.array(EndpointReport.meta({ id: 'EndpointReport' })),
      }),
    ),
  },
} as const satisfies Record<string, Declaration>;
