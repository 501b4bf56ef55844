import { z } from 'zod';
import {
  accountMembers,
  EMAIL_CHARS_MAX,
  Email,
  InvitationToken,
  NewPassword,
  OneTimeCode,
  SignUpMode,
  TriedPassword,
  TwoFactor,
} from '../../http/api.ts';
import { type Operation, PUBLIC_WRITE, READ, WRITE } from '../../http/operation.ts';

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

/** The operations on one's own account, by id. */
export const ACCOUNT_OPERATIONS = {
  signUp: {
    ...PUBLIC_WRITE,
    path: '/api/sign-up',
    summary: 'Create an account; the answer is the same if the address has an account already',
    body: z.strictObject({
      email: Email,
      password: NewPassword,
      /** The token of an invitation to a team; needed where only the invited may sign up. */
      invitation: InvitationToken.optional(),
    }),
    status: 202,
    answer: z.object({}),
    codes: ['sign-up-closed', 'rate-limited'],
  },
  signIn: {
    ...PUBLIC_WRITE,
    path: '/api/sign-in',
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
    ...PUBLIC_WRITE,
    path: '/api/sign-out',
    summary: 'Close the session, if there is one',
  },
  readSession: {
    ...READ,
    isOpenWithoutTwoFactor: true,
    path: '/api/session',
    summary: 'Read the account of the session',
    answer: SessionAnswer,
  },
  changePassword: {
    ...WRITE,
    path: '/api/account/password',
    summary: 'Change the password; all other sessions end',
    body: z.strictObject({ current: TriedPassword, next: NewPassword }),
    endsSomething: true,
    codes: ['credentials-invalid', 'conflict', 'rate-limited'],
  },
  resetPassword: {
    ...PUBLIC_WRITE,
    path: '/api/reset-password',
    summary: "Set a new password by an operator's link; all sessions end, and the link is used up",
    body: z.strictObject({ token: z.string().min(1).max(128), password: NewPassword }),
    codes: ['reset-link-invalid', 'conflict', 'not-found', 'rate-limited'],
  },
  readSignInOptions: {
    method: 'get',
    path: '/api/sign-in-options',
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
    ...PUBLIC_WRITE,
    path: '/api/forgotten-password',
    summary:
      'Send a link for a new password to an account; the answer is the same if the address has no account',
    body: z.strictObject({ email: Email }),
    status: 202,
    answer: z.object({}),
    codes: ['conflict', 'rate-limited'],
  },
  setNotices: {
    method: 'put',
    path: '/api/account/notices',
    access: 'session',
    summary: 'Turn e-mail about the apps of the account on or off',
    body: z.strictObject({ enabled: z.boolean() }).meta({ id: 'SetNotices' }),
    status: 204,
    codes: ['conflict'],
  },
  deleteAccount: {
    ...WRITE,
    path: '/api/account/delete',
    summary: 'Delete the account and its apps; their keys are refused within a second',
    body: z.strictObject({ password: TriedPassword.optional() }),
    endsSomething: true,
    codes: ['credentials-invalid', 'conflict', 'rate-limited'],
  },
} as const satisfies Record<string, Operation>;
