import { z } from 'zod';
import * as api from '../../http/api.ts';
import * as answers from '../../http/api-answers.ts';
import type { Operation } from '../../operation.ts';

const SignInOptions = z
  .object({
    /** Whether the portal sends links for a new password by e-mail. */
    resetLinkByEmail: z.boolean(),
  })
  .meta({ id: 'SignInOptions' });

/** The operations on sessions, and on a forgotten password, by id. */
export const SESSION_OPERATIONS = {
  resetPassword: {
    method: 'post',
    path: '/api/reset-password',
    access: 'public',
    summary: "Set a new password by an operator's link; all sessions end, and the link is used up",
    body: api.ResetPasswordBody,
    status: 204,
    codes: ['reset-link-invalid', 'conflict', 'not-found', 'rate-limited'],
  },
  readSignInOptions: {
    method: 'get',
    path: '/api/sign-in-options',
    access: 'public',
    summary: 'The ways to sign in that this portal offers',
    status: 200,
    answer: SignInOptions,
    codes: [],
  },
  requestResetLink: {
    method: 'post',
    path: '/api/forgotten-password',
    access: 'public',
    summary:
      'Send a link for a new password to an account; the answer is the same if the address has no account',
    body: api.ForgottenPasswordBody,
    status: 202,
    answer: z.object({}),
    codes: ['conflict', 'rate-limited'],
  },
  listSessions: {
    method: 'get',
    path: '/api/sessions',
    access: 'session',
    summary: 'The live sessions of the account, the last used first; at most 50',
    status: 200,
    answer: answers.SessionList,
    codes: [],
  },
  endSession: {
    method: 'delete',
    path: '/api/sessions/:sessionId',
    access: 'session',
    summary: 'End a session; its next request is refused',
    status: 204,
    codes: ['not-found'],
  },
  endOtherSessions: {
    method: 'post',
    path: '/api/sessions/end-others',
    access: 'session',
    summary: 'End all sessions of the account except the one of this request',
    endsSomething: true,
    status: 204,
    codes: [],
  },
} as const satisfies Record<string, Operation>;
