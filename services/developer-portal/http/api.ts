import { z } from 'zod';
import { Audit } from '#shared/contracts/apps/audit.ts';
import {
  ApiKeyRecord,
  forEachLimit,
  MemberRole,
  OperatorRights,
  Tier,
} from '#shared/contracts/apps/client-app.ts';
import { WebhookState } from '#shared/contracts/webhooks/webhook.ts';

/*
 * Schemas that several features use; what one operation uses stands beside it. Every body is
 * strict, every text bounded. An answer has what its schema names; the OpenAPI document is made of
 * all of them.
 */

export const EMAIL_CHARS_MAX = 254;
const PASSWORD_CHARS_MIN = 12;
const PASSWORD_CHARS_MAX = 128;
const NAME_CHARS_MAX = 64;
export const REASON_CHARS_MAX = 500;
const PAGE_COUNT_MAX = 100;

/** Includes bidirectional controls, because they make one text look like another. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
/** A visible character: no blank, and not of zero width. */
const VISIBLE = /[^\p{Z}\p{C}\p{Default_Ignorable_Code_Point}]/u;
const length = (text: string): number => [...text].length;

/** Text without control characters but those of `allowed`, blanks around it dropped; a length
 * counts code points. */
const text = (charsMax: number, allowed: RegExp) =>
  z
    .string()
    .max(charsMax * 4)
    .trim()
    .refine(
      (given) => given.isWellFormed() && !CONTROL.test(given.replace(allowed, '')),
      'Control characters are not allowed.',
    )
    .refine((given) => VISIBLE.test(given), 'Must not be empty.')
    .refine((given) => length(given) <= charsMax, `At most ${charsMax} characters.`)
    .meta({ minLength: 1, maxLength: charsMax });
/** The token of an invitation's link: the client id, a dot, 256 random bits. */
export const InvitationToken = z.string().min(1).max(200);

/** The name of an app or a key: one line. */
export const Name = text(NAME_CHARS_MAX, /(?!)/g);
/** Several lines of text. */
export const lines = (charsMax: number) => text(charsMax, /[\n\r\t]/g);

/** Checks only parts that every address has; a stricter check would refuse valid addresses. */
export const Email = z
  .string()
  .max(EMAIL_CHARS_MAX, `At most ${EMAIL_CHARS_MAX} characters.`)
  .trim()
  .regex(/^[^\s@]{1,64}@[^\s@]{1,189}$/, 'This is not an e-mail address.')
  .refine((given) => given.isWellFormed() && !CONTROL.test(given), 'Control characters are not allowed.');

/** Any characters: only length makes a password strong (NIST SP 800-63B 3.1.1.2). */
export const NewPassword = z
  .string()
  .refine((given) => length(given) >= PASSWORD_CHARS_MIN, `At least ${PASSWORD_CHARS_MIN} characters.`)
  .refine((given) => length(given) <= PASSWORD_CHARS_MAX, `At most ${PASSWORD_CHARS_MAX} characters.`)
  .refine((given) => given.isWellFormed(), 'This is not well-formed text.')
  .meta({ minLength: PASSWORD_CHARS_MIN, maxLength: PASSWORD_CHARS_MAX });

/** A password to verify: only bounded, so that a fault reveals nothing about the stored one. */
export const TriedPassword = z
  .string()
  .min(1, 'Must not be empty.')
  .max(4 * PASSWORD_CHARS_MAX, 'Too long.');

/** Six digits of an authenticator app, or a recovery code. Blanks are dropped. */
export const OneTimeCode = z
  .string()
  .max(64)
  .transform((given) => given.replace(/\s/g, ''))
  .pipe(z.string().min(6, 'Six digits, or a recovery code.'))
  .meta({ type: 'string', minLength: 6, maxLength: 64 });

export const CallbackUrl = z.string().min(1, 'Must not be empty.').max(2_048);
/** An instant in a request. */
export const Instant = z.iso.datetime({ offset: true });
/** The page generates it when it opens a form, so a double submit or a retry creates only one. */
export const IdempotencyKey = z.uuid();
/** A part of a path that names something. Rule sets may have a dot in their id. */
export const PathId = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/);

/** Query parameters of a list. They are texts; `after` is the `next` of the page before. */
export const PageLimit = z
  .string()
  .regex(/^[0-9]{1,3}$/, 'A whole number.')
  .transform(Number)
  .pipe(z.number().min(1).max(PAGE_COUNT_MAX))
  .default(25)
  .meta({ type: 'integer', minimum: 1, maximum: PAGE_COUNT_MAX, default: 25 });
export const page = { after: z.string().min(1).max(128).optional(), limit: PageLimit };

/** An instant in an answer. */
export const instant = z.iso.datetime();
export const count = z.number().int().nonnegative();
/** Given where there is more: the next page's `after`. */
export const next = z.string().optional();

export const Limits = z.object(forEachLimit(() => count));
/** The calendar month (UTC), such as `2026-11`, with the checks as the limiter counts them. */
export const Month = z.object({ name: z.string(), used: count, quota: count });
/** Absent if the password alone signs in. */
export const TwoFactor = z.object({ enabledAt: instant, recoveryCodesLeft: count }).optional();
/** An account as its owner and operators see it. */
export const accountMembers = {
  accountId: z.string(),
  email: z.string(),
  tier: Tier,
  operator: z.boolean(),
  /** Of an operator. */
  operatorRights: OperatorRights.optional(),
  limits: Limits,
};

/** Who may sign up: everybody, who opens an open invitation to a team, or nobody. */
export const SignUpMode = z.enum(['open', 'invite', 'closed']);

export const AppRole = z.enum(['owner', ...MemberRole.options]);
export const ScopeAnswer = z
  .object({
    state: z.enum(['none', 'requested', 'approved', 'rejected']),
    purpose: z.string().optional(),
    /** Why it was rejected. */
    reason: z.string().optional(),
  })
  .meta({ id: 'Scope' });
export const KeyAnswer = ApiKeyRecord.omit({ hash: true, replacedBy: true })
  .extend({ lastUsedAt: instant.optional() })
  .meta({ id: 'Key' });

export const attemptFacts = {
  at: instant,
  status: z.number().int().optional(),
  durationMs: z.number().nonnegative(),
  class: z.string(),
};
export const DeliveryAnswer = z
  .object({
    requestId: z.string(),
    state: WebhookState,
    callbackUrl: z.string(),
    nextAttemptAt: instant.optional(),
    attempts: z.array(z.object({ attempt: count, ...attemptFacts })).readonly(),
  })
  .meta({ id: 'Delivery' });
export const AuditEntry = Audit.omit({ accountId: true, clientId: true, kind: true }).meta({
  id: 'AuditEntry',
});
