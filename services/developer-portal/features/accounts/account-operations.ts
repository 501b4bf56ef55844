import { z } from 'zod';
import {
  accountMembers,
  EMAIL_CHARS_MAX,
  Email,
  InvitationToken,
  instant,
  NewPassword,
  OneTimeCode,
  SignUpMode,
  TriedPassword,
  TwoFactor,
} from '../../http/api.ts';
import type { Declaration } from '../../http/operation.ts';

const AccountAnswer = z
  .object({
    ...accountMembers,
    twoFactor: TwoFactor,
    /** Absent from an account that signs in at the identity provider: a sign-in within the last five
     * minutes proves what a password does. */
    hasPassword: z.boolean(),
    /** Whether the account gets e-mail about its apps; absent where the portal sends none. */
    notices: z.boolean().optional(),
    /** Whether the portal refuses everything else until the account has a second factor. */
    mustSetUpTwoFactor: z.boolean(),
  })
  .meta({ id: 'Account' });
export const SessionAnswer = z.object({ account: AccountAnswer });

const RecoveryCodes = z.object({
  /** Each signs in once instead of a code; returned only in this answer. */
  recoveryCodes: z.array(z.string()),
});
const PasswordAndCode = z.strictObject({ password: TriedPassword.optional(), code: OneTimeCode });

export const ACCOUNT_OPERATIONS = {
  signUp: {
    call: 'POST /api/sign-up',
    access: 'public',
    summary: 'Create an account; the answer is the same if the address has an account already',
    body: z.strictObject({
      email: Email,
      password: NewPassword,
      /** The token of an invitation to a team; needed where only the invited may sign up. */
      invitation: InvitationToken.optional(),
    }),
    status: 202,
    codes: ['sign-up-closed', 'rate-limited'],
  },
  signIn: {
    call: 'POST /api/sign-in',
    access: 'public',
    summary: 'Open a session and set its cookie',
    body: z.strictObject({
      email: z.string().min(1).max(EMAIL_CHARS_MAX).trim(),
      password: TriedPassword,
      /** Of an account with a second factor: without it the answer is `code-required`. */
      code: OneTimeCode.optional(),
    }),
    answer: SessionAnswer,
    codes: ['credentials-invalid', 'code-required', 'code-invalid', 'rate-limited'],
  },
  signOut: {
    call: 'POST /api/sign-out',
    access: 'public',
    summary: 'Close the session, if there is one',
  },
  readSession: {
    call: 'GET /api/session',
    isOpenWithoutTwoFactor: true,
    summary: 'Read the account of the session',
    answer: SessionAnswer,
  },
  changePassword: {
    call: 'POST /api/account/password',
    summary: 'Change the password; all other sessions end',
    body: z.strictObject({ current: TriedPassword, next: NewPassword }),
    endsSomething: true,
    codes: ['credentials-invalid', 'conflict', 'rate-limited'],
  },
  resetPassword: {
    call: 'POST /api/reset-password',
    access: 'public',
    summary: "Set a new password by an operator's link; all sessions end, and the link is used up",
    body: z.strictObject({ token: z.string().min(1).max(128), password: NewPassword }),
    codes: ['reset-link-invalid', 'conflict', 'not-found', 'rate-limited'],
  },
  readSignInOptions: {
    call: 'GET /api/sign-in-options',
    access: 'public',
    summary: 'The ways to sign in and to sign up that this portal offers',
    answer: z.object({
      /** Whether the portal sends links for a new password by e-mail. */
      resetLinkByEmail: z.boolean(),
      signUp: SignUpMode,
      /** Whether people may sign in at an identity provider. */
      singleSignOn: z.boolean(),
    }),
  },
  requestResetLink: {
    call: 'POST /api/forgotten-password',
    access: 'public',
    summary:
      'Send a link for a new password to an account; the answer is the same if the address has no account',
    body: z.strictObject({ email: Email }),
    status: 202,
    codes: ['conflict', 'rate-limited'],
  },
  setNotices: {
    call: 'PUT /api/account/notices',
    summary: 'Turn e-mail about the apps of the account on or off',
    body: z.strictObject({ enabled: z.boolean() }).meta({ id: 'SetNotices' }),
    status: 204,
    codes: ['conflict'],
  },
  deleteAccount: {
    call: 'POST /api/account/delete',
    summary: 'Delete the account and its apps; their keys are refused within a second',
    body: z.strictObject({ password: TriedPassword.optional() }),
    endsSomething: true,
    codes: ['credentials-invalid', 'conflict', 'rate-limited'],
  },
  listSessions: {
    call: 'GET /api/sessions',
    summary: 'The live sessions of the account, the last used first; at most 50',
    answer: z.array(
      z.object({
        sessionId: z.string(),
        startedAt: instant,
        usedAt: instant,
        /** The browser that signed in, in a few words. */
        browser: z.string(),
        /** The address that signed in: an IPv4 address, or the /64 network of an IPv6 address. */
        address: z.string(),
        /** Whether this request belongs to it. */
        current: z.boolean(),
      }),
    ),
  },
  endSession: {
    call: 'DELETE /api/sessions/:sessionId',
    summary: 'End a session; its next request is refused',
  },
  endOtherSessions: {
    call: 'POST /api/sessions/end-others',
    summary: 'End all sessions of the account except the one of this request',
    endsSomething: true,
  },
  beginTwoFactor: {
    call: 'POST /api/account/two-factor/begin',
    isOpenWithoutTwoFactor: true,
    summary: 'Make a secret for an authenticator app; it is turned on by a first code within ten minutes',
    body: z.strictObject({ password: TriedPassword.optional() }),
    answer: z.object({
      /** Base32, for apps that cannot read the QR code. */
      secret: z.string(),
      /** `otpauth://totp/…` */
      uri: z.string(),
      /** The URI as a QR code: an SVG document. */
      qr: z.string(),
    }),
    codes: ['credentials-invalid', 'conflict', 'rate-limited'],
  },
  enableTwoFactor: {
    call: 'POST /api/account/two-factor',
    isOpenWithoutTwoFactor: true,
    summary: 'Turn the second factor on with a first code; all other sessions end',
    body: z.strictObject({ code: OneTimeCode }),
    answer: RecoveryCodes,
    codes: ['code-invalid', 'conflict', 'rate-limited'],
  },
  renewRecoveryCodes: {
    call: 'POST /api/account/two-factor/recovery-codes',
    summary: 'Make new recovery codes; the earlier ones stop working',
    body: PasswordAndCode,
    answer: RecoveryCodes,
    codes: ['credentials-invalid', 'code-invalid', 'conflict', 'rate-limited'],
  },
  disableTwoFactor: {
    call: 'POST /api/account/two-factor/disable',
    summary: 'Turn the second factor off; all other sessions end',
    body: PasswordAndCode,
    endsSomething: true,
    codes: ['credentials-invalid', 'code-invalid', 'conflict', 'rate-limited'],
  },
} as const satisfies Record<string, Declaration>;
