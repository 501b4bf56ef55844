import { z } from 'zod';
import { LIVE_KEYS_MAX, Tier } from '#shared/contracts/apps/client-app.ts';
import { RULE_SETS_MAX, WATCH_MEMBERS_MAX, WATCHES_MAX } from '#shared/contracts/apps/tiers.ts';
import { UndeterminedCode } from '#shared/contracts/checks/result.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';
import { MODES, STATUSES } from '#shared/contracts/usage/day-figures.ts';
import { ROLE_ID_LENGTH_MAX } from '#shared/rules/body-texts.ts';
import { AUDIT_POSITION } from '#shared/stores/audit/audit-trail.ts';

/*
 * Schemas of the requests: every body is strict, every text bounded. The answers are in `api-answers.ts`; the OpenAPI
 * document is generated from both.
 */

const EMAIL_CHARS_MAX = 254;
const PASSWORD_CHARS_MIN = 12;
const PASSWORD_CHARS_MAX = 128;
const RESET_TOKEN_CHARS_MAX = 128;
export const NAME_CHARS_MAX = 64;
const PURPOSE_CHARS_MAX = 1_000;
export const REASON_CHARS_MAX = 500;
const OVERLAP_HOURS_MAX = 168;
const CALLBACK_URL_CHARS_MAX = 2_048;
const PAGE_COUNT_MAX = 100;

/** Includes bidirectional controls, because they make one text look like another. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
/** A visible character: no blank, and not of zero width. */
const VISIBLE = /[^\p{Z}\p{C}\p{Default_Ignorable_Code_Point}]/u;
const length = (text: string): number => [...text].length;

/** One line of text, blanks around it dropped; a length counts code points. */
const line = (charsMax: number) =>
  z
    .string()
    .max(charsMax * 4)
    .trim()
    .refine((text) => text.isWellFormed() && !CONTROL.test(text), 'Control characters are not allowed.')
    .refine((text) => VISIBLE.test(text), 'Must not be empty.')
    .refine((text) => length(text) <= charsMax, `At most ${charsMax} characters.`)
    .meta({ minLength: 1, maxLength: charsMax });

/** Several lines of text. */
const lines = (charsMax: number) =>
  z
    .string()
    .max(charsMax * 4)
    .trim()
    .refine(
      (text) => text.isWellFormed() && !CONTROL.test(text.replace(/[\n\r\t]/g, '')),
      'Control characters are not allowed.',
    )
    .refine((text) => VISIBLE.test(text), 'Must not be empty.')
    .refine((text) => length(text) <= charsMax, `At most ${charsMax} characters.`)
    .meta({ minLength: 1, maxLength: charsMax });

/** Checks only parts that every address has; a stricter check would refuse valid addresses. */
export const Email = z
  .string()
  .max(EMAIL_CHARS_MAX, `At most ${EMAIL_CHARS_MAX} characters.`)
  .trim()
  .regex(/^[^\s@]{1,64}@[^\s@]{1,189}$/, 'This is not an e-mail address.')
  .refine((text) => text.isWellFormed() && !CONTROL.test(text), 'Control characters are not allowed.');

/** Any characters: only length makes a password strong (NIST SP 800-63B 3.1.1.2). */
const NewPassword = z
  .string()
  .refine((text) => length(text) >= PASSWORD_CHARS_MIN, `At least ${PASSWORD_CHARS_MIN} characters.`)
  .refine((text) => length(text) <= PASSWORD_CHARS_MAX, `At most ${PASSWORD_CHARS_MAX} characters.`)
  .refine((text) => text.isWellFormed(), 'This is not well-formed text.')
  .meta({ minLength: PASSWORD_CHARS_MIN, maxLength: PASSWORD_CHARS_MAX });

/** A password to verify: only bounded, so that a fault reveals nothing about the stored one. */
export const TriedPassword = z
  .string()
  .min(1, 'Must not be empty.')
  .max(4 * PASSWORD_CHARS_MAX, 'Too long.');

const OverlapHours = z.number().int().min(0).max(OVERLAP_HOURS_MAX);
const CallbackUrl = z.string().min(1, 'Must not be empty.').max(CALLBACK_URL_CHARS_MAX);
const Instant = z.iso.datetime({ offset: true });

/** Six digits of an authenticator app, or a recovery code. Blanks are dropped. */
export const OneTimeCode = z
  .string()
  .max(64)
  .transform((text) => text.replace(/\s/g, ''))
  .pipe(z.string().min(6, 'Six digits, or a recovery code.'))
  .meta({ type: 'string', minLength: 6, maxLength: 64 });

export const SignUpBody = z.strictObject({ email: Email, password: NewPassword }).meta({ id: 'SignUp' });
export const SignInBody = z
  .strictObject({
    email: z.string().min(1).max(EMAIL_CHARS_MAX).trim(),
    password: TriedPassword,
    /** Of an account with a second factor: without it the answer is `code-required`. */
    code: OneTimeCode.optional(),
  })
  .meta({ id: 'SignIn' });
export const ChangePasswordBody = z
  .strictObject({ current: TriedPassword, next: NewPassword })
  .meta({ id: 'ChangePassword' });
export const ResetPasswordBody = z
  .strictObject({ token: z.string().min(1).max(RESET_TOKEN_CHARS_MAX), password: NewPassword })
  .meta({ id: 'ResetPassword' });
export const ForgottenPasswordBody = z.strictObject({ email: Email }).meta({ id: 'ForgottenPassword' });
export const DeleteAccountBody = z.strictObject({ password: TriedPassword }).meta({ id: 'DeleteAccount' });

export const AppBody = z.strictObject({ name: line(NAME_CHARS_MAX) }).meta({ id: 'AppName' });
export const CreateKeyBody = z
  .strictObject({
    name: line(NAME_CHARS_MAX),
    /** In the future; a year ahead and more is allowed. */
    expiresAt: Instant.optional(),
    marketplace: z.boolean().default(false),
  })
  .meta({ id: 'CreateKey' });
export const OverlapBody = z.strictObject({ overlapHours: OverlapHours }).meta({ id: 'Overlap' });
export const ScopeBody = z.strictObject({ purpose: lines(PURPOSE_CHARS_MAX) }).meta({ id: 'ScopeRequest' });

const PageLimit = z
  .string()
  .regex(/^[0-9]{1,3}$/, 'A whole number.')
  .transform(Number)
  .pipe(z.number().min(1).max(PAGE_COUNT_MAX))
  .default(25)
  .meta({ type: 'integer', minimum: 1, maximum: PAGE_COUNT_MAX, default: 25 });

export const DELIVERY_STATES = ['pending', 'delivered', 'exhausted', 'stopped'] as const;
/** Query parameters are texts; `before` is the `next` of the page before. */
export const DeliveriesQuery = z.strictObject({
  state: z.enum(DELIVERY_STATES).optional(),
  since: Instant.optional(),
  before: z.string().min(1).max(64).optional(),
  limit: PageLimit,
});
const CHECK_OUTCOMES = ['granted', 'denied', 'undetermined'] as const;
export const WatchMembersQuery = z.strictObject({
  /** The `next` of the page before. */
  after: z.string().min(1).max(128).optional(),
  limit: PageLimit,
});

export const WatchEventsQuery = z.strictObject({
  /** The ref or account of a member: its events alone. */
  member: z.string().min(1).max(128).optional(),
  /** The `next` of the page before. */
  before: z.string().min(1).max(64).optional(),
  limit: PageLimit,
});

/** Filters of the log of checks; a check matches if it meets all of them. */
export const ChecksQuery = z.strictObject({
  requestId: z.string().min(1).max(64).optional(),
  mode: z.enum(MODES).optional(),
  status: z.enum(STATUSES).optional(),
  /** At least one rule ended so. */
  outcome: z.enum(CHECK_OUTCOMES).optional(),
  /** At least one rule has this code in `errors`. */
  code: UndeterminedCode.optional(),
  /** At least one rule is about this role; of a check with more than 32 roles, 32 are known. */
  roleId: z.string().min(1).max(ROLE_ID_LENGTH_MAX).optional(),
  /** The API key of the request. */
  keyId: z.string().min(1).max(64).optional(),
  since: Instant.optional(),
  /** The `next` of the page before. */
  before: z.string().min(1).max(64).optional(),
  limit: PageLimit,
});
export const BatchesQuery = z.strictObject({
  /** The `next` of the page before. */
  before: z.string().min(1).max(64).optional(),
  limit: PageLimit,
});
const BATCH_FORMATS = ['ndjson', 'csv'] as const;
export const BatchResultsQuery = z.strictObject({ format: z.enum(BATCH_FORMATS).default('ndjson') });
export const UnreadEntriesQuery = z.strictObject({
  /** The place of the first entry that is looked at: the `next` of the page before. */
  from: z
    .string()
    .regex(/^[0-9]{1,6}$/, 'A whole number.')
    .transform(Number)
    .pipe(z.number().int().nonnegative())
    .default(0)
    .meta({ type: 'integer', minimum: 0, default: 0 }),
});
export const ResendFailedBody = z.strictObject({ since: Instant }).meta({ id: 'ResendFailed' });
/** `null` ends the alerts. */
export const AlertsBody = z.strictObject({ callbackUrl: CallbackUrl.nullable() }).meta({ id: 'Alerts' });
export const TestEventBody = z.strictObject({ callbackUrl: CallbackUrl }).meta({ id: 'TestEvent' });
export const TryBody = z
  .strictObject({
    apiKey: z.string().min(1).max(100),
    /** A check as the public API takes it. */
    check: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Try' });
export const PollTriedBody = z.strictObject({ apiKey: z.string().min(1).max(100) }).meta({ id: 'PollTried' });

export const RejectBody = z.strictObject({ reason: lines(REASON_CHARS_MAX) }).meta({ id: 'Rejection' });
/** A part of an e-mail address or of a name, or a whole id. */
const SearchText = z.string().max(EMAIL_CHARS_MAX).trim().optional();
/** The `next` of the page before. */
const SearchCursor = z
  .string()
  .regex(/^[0-9]{1,20}$/)
  .optional();
export const AccountsQuery = z.strictObject({ query: SearchText, after: SearchCursor });
export const OperatorAuditQuery = z.strictObject({
  /** An account's id or whole e-mail address. */
  account: z.string().min(1).max(EMAIL_CHARS_MAX).trim().optional(),
  /** A client id. */
  app: z.string().min(1).max(64).optional(),
  action: z.string().min(1).max(64).optional(),
  since: Instant.optional(),
  until: Instant.optional(),
  before: z.string().regex(AUDIT_POSITION).optional(),
  limit: PageLimit,
});
export const OperatorAppsQuery = z.strictObject({
  query: SearchText,
  after: SearchCursor,
  suspended: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .meta({ type: 'boolean' }),
});
const figure = z.number().int().min(1).max(1_000_000_000_000);
export const TierBody = z
  .strictObject({
    tier: Tier,
    /** For `enterprise` only; an omitted limit is the tier's default. */
    limits: z
      .strictObject({
        requestsPerSecond: z.number().int().min(1).max(1_000_000),
        requestsPerMonth: figure,
        clientApps: z.number().int().min(1).max(10_000),
        marketplaceKeys: z.number().int().min(1).max(10_000),
        liveKeys: z.number().int().min(1).max(LIVE_KEYS_MAX),
        ruleSets: z.number().int().min(1).max(RULE_SETS_MAX),
        watches: z.number().int().min(1).max(WATCHES_MAX),
        watchMembers: z.number().int().min(1).max(WATCH_MEMBERS_MAX),
        writesPerDay: figure,
      })
      .partial()
      .optional(),
  })
  .meta({ id: 'TierSetting' });

/** The page generates it when it opens a form, so a double submit or a retry creates only one. */
export const IdempotencyKey = z.uuid();
/** A part of a path that names something. Rule sets may have a dot in their id. */
export const PathId = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/);
export const RuleSetsQuery = z.strictObject({ after: z.string().regex(RULE_SET_ID).optional() });
/** A rule set as the gateway takes it, and the version that it replaces: 0 for a new rule set. */
export const RuleSetDraft = z
  .strictObject({
    /** Validated by the rules of the gateway, with every fault by its pointer inside. */
    ruleSet: z.record(z.string(), z.unknown()),
    replaces: z.number().int().min(0).optional(),
  })
  .meta({ id: 'RuleSetDraft' });
