import { z } from 'zod';
import { SIGN_IN_DOMAINS_MAX } from '../sign-in/sign-in-domain.ts';
import { defineTopic } from '../topic.ts';

export const Tier = z.enum(['free', 'paid', 'enterprise']);
export type Tier = z.infer<typeof Tier>;

/** A document's version: the projector ignores an older one, whatever the order of arrival. */
const version = z.number().int().positive();

/** The limits that follow from a tier, and the largest value of each that an enterprise account may
 * have of its own. */
export const LIMITS_MAX = {
  requestsPerSecond: 1_000_000,
  requestsPerMonth: 1_000_000_000_000,
  clientApps: 10_000,
  marketplaceKeys: 10_000,
  /** API keys of one app that can be used, marketplace keys included. */
  liveKeys: 1_000,
  ruleSets: 10_000,
  watches: 10_000,
  watchMembers: 10_000_000,
  /** Writes of rule sets, watches and members by one app in a day, together. */
  writesPerDay: 1_000_000_000_000,
} as const;

export const forEachLimit = <S extends z.ZodType>(schemaOf: (max: number) => S) =>
  Object.fromEntries(Object.entries(LIMITS_MAX).map(([name, max]) => [name, schemaOf(max)])) as Record<
    keyof typeof LIMITS_MAX,
    S
  >;
/** What an account may do; `tiers.ts` has the figures of each tier. */
export const TierLimits = z.object(forEachLimit((max) => z.number().int().min(1).max(max)));
export type TierLimits = z.infer<typeof TierLimits>;

export const RECOVERY_CODES_MAX = 10;

/** The second factor of an account: time-based one-time passwords (RFC 6238). */
export const TwoFactor = z.object({
  /** The shared secret, encrypted. */
  encrypted: z.string(),
  enabledAt: z.iso.datetime(),
  /** SHA-256 of each recovery code that was not used yet, hex. */
  recoveryCodes: z.array(z.string()).max(RECOVERY_CODES_MAX),
});
export type TwoFactor = z.infer<typeof TwoFactor>;

/** What an operator may do in the portal: see all accounts and apps, or also approve scopes, set
 * tiers and suspend apps. */
export const OperatorRights = z.enum(['read', 'change']);
export type OperatorRights = z.infer<typeof OperatorRights>;

/** An account of the developer portal: the whole document, keyed by its id. */
export const Account = z.object({
  accountId: z.string(),
  version,
  email: z.string(),
  tier: Tier,
  /** Set for an enterprise account alone. */
  limits: TierLimits.optional(),
  /** In the form of a PHC string, by scrypt. An account that only operators write to has none. */
  passwordHash: z.string().optional(),
  /** The person of the identity provider whose account this is: SHA-256 of issuer and id, hex. Such
   * an account has a password only if an operator has set one. */
  singleSignOn: z.string().optional(),
  /** Absent if one factor alone signs in. */
  twoFactor: TwoFactor.optional(),
  /** Whether an operator made the account or vouched for it. Signing up proves nothing about an
   * address. */
  verified: z.boolean(),
  operator: OperatorRights.optional(),
  /** Set if the owner wants no e-mail about the apps. */
  noNotices: z.literal(true).optional(),
  createdAt: z.iso.datetime(),
  /** Set once: the account is gone, its document stays as a tombstone. */
  deletedAt: z.iso.datetime().optional(),
});
export type Account = z.infer<typeof Account>;

/**
 * What a key may do: `check` starts checks and batches, reads their results and gets nonces; `read`
 * reads everything else of the app; `manage` writes rule sets, watches and members, and resends
 * webhooks.
 */
export const KeyPermission = z.enum(['check', 'read', 'manage']);
export type KeyPermission = z.infer<typeof KeyPermission>;
/** At least one, in the order of `KeyPermission`. */
export const KeyPermissions = z
  .array(KeyPermission)
  .min(1, 'At least one permission.')
  .transform((given) => KeyPermission.options.filter((one) => given.includes(one)));

/** An API key as it is kept: its hash, never the key. */
export const ApiKeyRecord = z.object({
  keyId: z.string(),
  /** SHA-256 of the key, hex. */
  hash: z.string(),
  name: z.string(),
  /** For display: the key's first characters and its last four. */
  prefix: z.string(),
  lastFour: z.string(),
  marketplace: z.boolean(),
  permissions: z.array(KeyPermission).min(1),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().optional(),
  revokedAt: z.iso.datetime().optional(),
  /** The key that replaces this one, if that is not revoked: until this one expires both can be
   * used, and only the new one is counted. */
  replacedBy: z.string().optional(),
});
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

/** Signing secrets that may be live at a time: a rotation within a rotation. */
export const LIVE_SECRETS_MAX = 3;

/** A webhook signing secret as it is kept: encrypted, with the client id as associated data. */
export const WebhookSecretRecord = z.object({
  encrypted: z.string(),
  createdAt: z.iso.datetime(),
  /** After that instant it signs no more; absent on the newest. */
  expiresAt: z.iso.datetime().optional(),
});
export type WebhookSecretRecord = z.infer<typeof WebhookSecretRecord>;

/** The limits that an account gives each of its apps; see `appLimitsOf`. */
export const AppLimits = TierLimits.omit({ clientApps: true, marketplaceKeys: true, liveKeys: true }).extend({
  tier: Tier,
});
export type AppLimits = z.infer<typeof AppLimits>;

/** Keys that an app's document may hold, revoked and expired ones included: it stays below a
 * message's largest size. */
export const KEYS_MAX = 1_200;

/** The role of a member of an app's team; the owner's account may do everything. */
export const MemberRole = z.enum(['viewer', 'developer', 'admin']);
export type MemberRole = z.infer<typeof MemberRole>;

export const MEMBERS_MAX = 50;
/** Removed members in the document, the newest: their audit entries keep their names. */
export const FORMER_MEMBERS_MAX = 100;
export const INVITATIONS_MAX = 20;

/** An account that may use an app of another account. */
export const Member = z.object({ accountId: z.string(), role: MemberRole, addedAt: z.iso.datetime() });
export type Member = z.infer<typeof Member>;

/** A link by which an account becomes a member, once. */
export const Invitation = z.object({
  invitationId: z.string(),
  /** SHA-256 of the link's token, hex. */
  tokenHash: z.string(),
  role: MemberRole,
  /** The only account that may accept it; absent if the link is enough. */
  email: z.string().optional(),
  /** The account that made it. */
  invitedBy: z.string(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});
export type Invitation = z.infer<typeof Invitation>;

/** A client app: the whole document, keyed by its id. */
export const ClientApp = z.object({
  clientId: z.string(),
  version,
  accountId: z.string(),
  name: z.string(),
  scope: z.enum(['none', 'requested', 'approved', 'rejected']),
  scopeReason: z.string().optional(),
  scopePurpose: z.string().optional(),
  scopeRequestedAt: z.iso.datetime().optional(),
  /** When an operator approved or rejected it. */
  scopeDecidedAt: z.iso.datetime().optional(),
  suspended: z.boolean(),
  /**
   * As they were when the app was made. The account's own limits decide, so that one write changes
   * those of all its apps; these hold only where the view has no such account.
   */
  limits: AppLimits,
  keys: z.array(ApiKeyRecord).max(KEYS_MAX),
  /** The address for alerts about the month's quota; absent: none are sent. */
  alertUrl: z.string().optional(),
  /** The domains that sign-in messages may be for, in lower case; absent: none. */
  domains: z.array(z.string()).max(SIGN_IN_DOMAINS_MAX).optional(),
  /** Newest first; at most three are live at a time. */
  webhookSecrets: z.array(WebhookSecretRecord).max(10),
  members: z.array(Member).max(MEMBERS_MAX).optional(),
  /** Account ids of removed members, the last removed first. */
  formerMembers: z.array(z.string()).max(FORMER_MEMBERS_MAX).optional(),
  invitations: z.array(Invitation).max(INVITATIONS_MAX).optional(),
  createdAt: z.iso.datetime(),
  /** Set once: the app is gone, its keys are revoked, its document stays as a tombstone. */
  deletedAt: z.iso.datetime().optional(),
});
export type ClientApp = z.infer<typeof ClientApp>;

/** The fields of an app that the gateway caches: a few hundred bytes, however many keys the app
 * has. */
export const AppAccess = ClientApp.pick({
  clientId: true,
  accountId: true,
  suspended: true,
  scope: true,
  limits: true,
  domains: true,
});
export type AppAccess = z.infer<typeof AppAccess>;

/** Compacted topics never change their partition count. */
export const account = defineTopic({
  name: 'account.v1',
  schema: Account,
  keyOf: (message) => message.accountId,
  partitionCount: 12,
  cleanup: 'compact',
});

export const clientApp = defineTopic({
  name: 'client-app.v1',
  schema: ClientApp,
  keyOf: (message) => message.clientId,
  partitionCount: 12,
  cleanup: 'compact',
});
