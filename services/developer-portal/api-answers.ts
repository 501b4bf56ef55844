import { z } from 'zod';
import { OnUndetermined } from '#shared/contracts/rule.ts';
import { DELIVERY_STATES } from './api.ts';

/** Schemas of the answers. Tests validate answers against them; the OpenAPI document is generated from them. */

const instant = z.iso.datetime();
const count = z.number().int().nonnegative();
const Tier = z.enum(['free', 'paid', 'enterprise']);

export const Limits = z.object({
  requestsPerSecond: count,
  requestsPerMonth: count,
  clientApps: count,
  marketplaceKeys: count,
  liveKeys: count,
  ruleSets: count,
  writesPerDay: count,
});

export const AccountAnswer = z
  .object({ accountId: z.string(), email: z.string(), tier: Tier, operator: z.boolean(), limits: Limits })
  .meta({ id: 'Account' });
export const SessionAnswer = z.object({ account: AccountAnswer }).meta({ id: 'Session' });
/** The same whether or not the address is known. */
export const SignUpAnswer = z.object({});

export const ScopeAnswer = z
  .object({
    state: z.enum(['none', 'requested', 'approved', 'rejected']),
    purpose: z.string().optional(),
    /** Why it was rejected. */
    reason: z.string().optional(),
  })
  .meta({ id: 'Scope' });

export const AppSummary = z
  .object({
    clientId: z.string(),
    name: z.string(),
    createdAt: instant,
    suspended: z.boolean(),
    scope: ScopeAnswer,
    /** Keys that can be used now. */
    keyCount: count,
  })
  .meta({ id: 'AppSummary' });
export const AppList = z.array(AppSummary);

export const KeyAnswer = z
  .object({
    keyId: z.string(),
    name: z.string(),
    prefix: z.string(),
    lastFour: z.string(),
    marketplace: z.boolean(),
    createdAt: instant,
    expiresAt: instant.optional(),
    revokedAt: instant.optional(),
    lastUsedAt: instant.optional(),
  })
  .meta({ id: 'Key' });

export const AppAnswer = z
  .object({
    clientId: z.string(),
    name: z.string(),
    createdAt: instant,
    suspended: z.boolean(),
    scope: ScopeAnswer,
    keys: z.array(KeyAnswer),
    /** Live ones, newest first; the newest has no end. */
    secrets: z.array(z.object({ createdAt: instant, expiresAt: instant.optional() })),
    limits: Limits,
  })
  .meta({ id: 'App' });

/** The key and the secret are returned only in this answer. */
export const CreatedApp = z
  .object({
    clientId: z.string(),
    name: z.string(),
    keyId: z.string(),
    apiKey: z.string(),
    webhookSecret: z.string(),
  })
  .meta({ id: 'CreatedApp' });
export const CreatedKey = z.object({ keyId: z.string(), apiKey: z.string() }).meta({ id: 'CreatedKey' });
export const CreatedSecret = z.object({ webhookSecret: z.string() }).meta({ id: 'CreatedSecret' });

/** Milliseconds from acceptance to the result; nothing where nothing was done. */
const percentile = z.number().nonnegative().nullable();
export const UsageDay = z
  .object({
    /** UTC: `2026-11-21`. */
    date: z.iso.date(),
    /** Checks by mode. */
    sync: count,
    poll: count,
    webhook: count,
    /** Checks by outcome. */
    completed: count,
    failed: count,
    /** Rules by outcome. */
    granted: count,
    denied: count,
    undetermined: count,
    /** Requests answered 429. */
    refused: count,
    p50Ms: percentile,
    p95Ms: percentile,
  })
  .meta({ id: 'UsageDay' });
export const UsageAnswer = z
  .object({
    /** The calendar month (UTC) as the limiter counts it. */
    month: z.object({ name: z.string(), used: count, quota: count }),
    /** The last 30 days, oldest first. */
    days: z.array(UsageDay),
    totals: z.object({
      refused: count,
      /** Of all rules, from 0 to 1. */
      undeterminedShare: z.number().min(0).max(1),
      p50Ms: percentile,
      p95Ms: percentile,
    }),
  })
  .meta({ id: 'Usage' });

const AttemptFacts = {
  at: instant,
  status: z.number().int().optional(),
  durationMs: z.number().nonnegative(),
  class: z.string(),
};
const DeliveryState = z.enum(DELIVERY_STATES);
export const DeliverySummary = z
  .object({
    requestId: z.string(),
    state: DeliveryState,
    callbackUrl: z.string(),
    acceptedAt: instant.optional(),
    attempts: count,
    lastAttempt: z.object(AttemptFacts).optional(),
  })
  .meta({ id: 'DeliverySummary' });
export const DeliveryPage = z
  .object({
    deliveries: z.array(DeliverySummary),
    /** Given where there may be more: the next page's `before`. */
    next: z.string().optional(),
  })
  .meta({ id: 'DeliveryPage' });
export const DeliveryAnswer = z
  .object({
    requestId: z.string(),
    state: DeliveryState,
    callbackUrl: z.string(),
    nextAttemptAt: instant.optional(),
    attempts: z.array(
      z.object({
        attempt: count,
        ...AttemptFacts,
        /** The first 4 KiB of the receiver's answer; stored for the last attempt only. */
        answer: z.string().optional(),
      }),
    ),
  })
  .meta({ id: 'Delivery' });

export const RequestIdAnswer = z.object({ requestId: z.string() }).meta({ id: 'Accepted' });
export const CountAnswer = z.object({ count }).meta({ id: 'AcceptedCount' });

const address = z.string().meta({ description: 'An address on that chain.' });
export const TryOptions = z
  .object({
    /** Configured chains in the order of the chain file; empty if the portal has no chain file. */
    chains: z.array(
      z.object({ chainId: z.number().int().positive(), name: z.string(), nativeSymbol: z.string() }),
    ),
    /** Where developers reach the gateway. */
    gatewayUrl: z.string(),
    /** On a system with a demo chain: a wallet that holds its tokens, one that does not, and the tokens. */
    demo: z
      .object({
        chainId: z.number().int().positive(),
        holder: address,
        stranger: address,
        erc20: address,
        erc721: address,
        erc1155: address,
      })
      .optional(),
  })
  .meta({ id: 'TryOptions' });

export const TryAnswer = z
  .object({
    status: z.number().int(),
    headers: z.record(z.string(), z.string()),
    /** JSON where it is JSON, else text. */
    body: z.unknown(),
    durationMs: z.number().nonnegative(),
    /** The same request for a terminal; the key stands there as `$ROLECALL_API_KEY`. */
    curl: z.string(),
  })
  .meta({ id: 'Tried' });

export const AuditEntry = z
  .object({ at: instant, actor: z.string(), action: z.string(), subject: z.string() })
  .meta({ id: 'AuditEntry' });
export const AuditList = z.array(AuditEntry);

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
export const OperatorAccountList = z.array(
  z
    .object({
      accountId: z.string(),
      email: z.string(),
      tier: Tier,
      operator: z.boolean(),
      limits: Limits,
      /** How many client apps it has. */
      apps: count,
    })
    .meta({ id: 'OperatorAccount' }),
);
export const OperatorApp = z
  .object({
    clientId: z.string(),
    name: z.string(),
    email: z.string(),
    tier: Tier,
    suspended: z.boolean(),
    scope: ScopeAnswer,
  })
  .meta({ id: 'OperatorApp' });
export const OperatorAppList = z.array(OperatorApp);
export const OperatorAccountAnswer = OperatorAccountList.element;
export const DeadLetterCounts = z.array(
  z.object({ topic: z.string(), count }).meta({ id: 'DeadLetterCount' }),
);

const ruleSet = {
  ruleSetId: z.string(),
  version: count,
  digest: z.string(),
  name: z.string().optional(),
  onUndetermined: OnUndetermined,
  updatedAt: instant,
};
export const RuleSetAnswer = z
  .object({ ...ruleSet, rules: z.array(z.record(z.string(), z.unknown())) })
  .meta({ id: 'RuleSet' });
export const RuleSetPage = z.object({
  ruleSets: z.array(z.object({ ...ruleSet, ruleCount: count }).meta({ id: 'RuleSetSummary' })),
  /** The id after which the next page begins. */
  next: z.string().optional(),
});
