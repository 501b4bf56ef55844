import { z } from 'zod';
import { MemberRole, Tier } from '#shared/contracts/apps/client-app.ts';
import { OnUndetermined } from '#shared/contracts/rules/rule.ts';
import { DELIVERY_STATES } from './api.ts';

/** Schemas of the answers. Tests validate answers against them; the OpenAPI document is generated from them. */

const instant = z.iso.datetime();
const count = z.number().int().nonnegative();

export const Limits = z.object({
  requestsPerSecond: count,
  requestsPerMonth: count,
  clientApps: count,
  marketplaceKeys: count,
  liveKeys: count,
  ruleSets: count,
  watches: count,
  watchMembers: count,
  writesPerDay: count,
});

/** An account as its owner and operators see it. */
export const accountMembers = {
  accountId: z.string(),
  email: z.string(),
  tier: Tier,
  operator: z.boolean(),
  limits: Limits,
};

export const AccountAnswer = z
  .object({
    ...accountMembers,
    /** Absent if the password alone signs in. */
    twoFactor: z.object({ enabledAt: instant, recoveryCodesLeft: count }).optional(),
  })
  .meta({ id: 'Account' });
export const SessionAnswer = z.object({ account: AccountAnswer }).meta({ id: 'Session' });
export const SessionList = z.array(
  z
    .object({
      sessionId: z.string(),
      startedAt: instant,
      usedAt: instant,
      /** The browser that signed in, in a few words. */
      browser: z.string(),
      /** The address that signed in: an IPv4 address, or the /64 network of an IPv6 address. */
      address: z.string(),
      /** Whether this request belongs to it. */
      current: z.boolean(),
    })
    .meta({ id: 'OpenSession' }),
);
/** The page `/reset-password#TOKEN` sets the new password. */
export const ResetLink = z.object({ token: z.string(), expiresAt: instant }).meta({ id: 'ResetLink' });
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

export const AppRole = z.enum(['owner', ...MemberRole.options]);
export const AppSummary = z
  .object({
    clientId: z.string(),
    name: z.string(),
    /** Of the signed-in account in this app. */
    role: AppRole,
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
    /** Of the signed-in account in this app. */
    role: AppRole,
    /** The operations on this app that the signed-in account may use, by id. */
    operations: z.array(z.string()),
    createdAt: instant,
    suspended: z.boolean(),
    scope: ScopeAnswer,
    keys: z.array(KeyAnswer),
    /** Live ones, newest first; the newest has no end. */
    secrets: z.array(z.object({ createdAt: instant, expiresAt: instant.optional() })),
    limits: Limits,
    /** The address for alerts about its quota. */
    alertUrl: z.string().optional(),
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
      }),
    ),
  })
  .meta({ id: 'Delivery' });
export const DeliveryWithPayload = DeliveryAnswer.extend({
  /** The body, byte for byte as it is sent on every attempt; absent once its retention has ended. */
  payload: z.string().optional(),
}).meta({ id: 'DeliveryWithPayload' });

export const ReceiverAnswer = z
  .object({
    /** The first 4 KiB of what the receiver answered to the last attempt that reached it; absent if it is empty, or not kept. */
    answer: z.string().optional(),
  })
  .meta({ id: 'ReceiverAnswer' });

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
    /** On a system with a demo chain: a wallet with its tokens, a wallet without, and the tokens. */
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
    /** The same request for a terminal, with the key as `$ROLECALL_API_KEY`. */
    curl: z.string(),
  })
  .meta({ id: 'Tried' });

export const AuditEntry = z
  .object({ at: instant, actor: z.string(), action: z.string(), subject: z.string() })
  .meta({ id: 'AuditEntry' });
export const AuditList = z.array(AuditEntry);

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
