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
import { type Operation, READ } from '../../http/operation.ts';

export const AccountAnswer = z
  .object({
    ...accountMembers,
    twoFactor: TwoFactor,
    /** Absent from an account that signs in at the identity provider: a sign-in within the last five
     * minutes proves what a password does. */
    hasPassword: z.boolean(),
    /** Whether the portal refuses everything else until the account has a second factor. */
    mustSetUpTwoFactor: z.boolean(),
  })
  .meta({ id: 'Account' });
export const SessionAnswer = z.object({ account: AccountAnswer }).meta({ id: 'Session' });

/** The operations on one's own account, by id. */
export const ACCOUNT_OPERATIONS = {
  signUp: {
    method: 'post',
    path: '/api/sign-up',
    access: 'public',
    summary: 'Create an account; the answer is the same if the address has an account already',
    body: z
      .strictObject({
        email: Email,
        password: NewPassword,
        /** The token of an invitation to a team; needed where only the invited may sign up. */
        invitation: InvitationToken.optional(),
      })
      .meta({ id: 'SignUp' }),
    status: 202,
    answer: z.object({}),
    codes: ['sign-up-closed', 'rate-limited'],
  },
  signIn: {
    method: 'post',
    path: '/api/sign-in',
    access: 'public',
    summary: 'Open a session and set its cookie',
    body: z
      .strictObject({
        email: z.string().min(1).max(EMAIL_CHARS_MAX).trim(),
        password: TriedPassword,
        /** Of an account with a second factor: without it the answer is `code-required`. */
        code: OneTimeCode.optional(),
      })
      .meta({ id: 'SignIn' }),
    status: 200,
    answer: SessionAnswer,
    codes: ['credentials-invalid', 'code-required', 'code-invalid', 'rate-limited'],
  },
  signOut: {
    method: 'post',
    path: '/api/sign-out',
    access: 'public',
    summary: 'Close the session, if there is one',
    status: 204,
    codes: [],
  },
  readSession: {
    ...READ,
    isOpenWithoutTwoFactor: true,
    path: '/api/session',
    summary: 'Read the account of the session',
    answer: SessionAnswer,
  },
  changePassword: {
    method: 'post',
    path: '/api/account/password',
    access: 'session',
    summary: 'Change the password; all other sessions end',
    body: z.strictObject({ current: TriedPassword, next: NewPassword }).meta({ id: 'ChangePassword' }),
    endsSomething: true,
    status: 204,
    codes: ['credentials-invalid', 'conflict', 'rate-limited'],
  },
  resetPassword: {
    method: 'post',
    path: '/api/reset-password',
    access: 'public',
    summary: "Set a new password by an operator's link; all sessions end, and the link is used up",
    body: z
      .strictObject({ token: z.string().min(1).max(128), password: NewPassword })
      .meta({ id: 'ResetPassword' }),
    status: 204,
    codes: ['reset-link-invalid', 'conflict', 'not-found', 'rate-limited'],
  },
  readSignInOptions: {
    method: 'get',
    path: '/api/sign-in-options',
    access: 'public',
    summary: 'The ways to sign in and to sign up that this portal offers',
    status: 200,
    answer: z
      .object({
        /** Whether the portal sends links for a new password by e-mail. */
        resetLinkByEmail: z.boolean(),
        signUp: SignUpMode,
        /** Whether people may sign in at an identity provider. */
        singleSignOn: z.boolean(),
      })
      .meta({ id: 'SignInOptions' }),
    codes: [],
  },
  requestResetLink: {
    method: 'post',
    path: '/api/forgotten-password',
    access: 'public',
    summary:
      'Send a link for a new password to an account; the answer is the same if the address has no account',
    body: z.strictObject({ email: Email }).meta({ id: 'ForgottenPassword' }),
    status: 202,
    answer: z.object({}),
    codes: ['conflict', 'rate-limited'],
  },
  deleteAccount: {
    method: 'post',
    path: '/api/account/delete',
    access: 'session',
    summary: 'Delete the account and its apps; their keys are refused within a second',
    body: z.strictObject({ password: TriedPassword.optional() }).meta({ id: 'DeleteAccount' }),
    endsSomething: true,
    status: 204,
    codes: ['credentials-invalid', 'conflict', 'rate-limited'],
  },
} as const satisfies Record<string, Operation>;
