import { z } from 'zod';
import { InvitationToken, OneTimeCode } from '../../http/api.ts';
import type { Declaration } from '../../http/operation.ts';
import { SessionAnswer } from '../accounts/account-operations.ts';

/** Opaque to the page, which sends it back. */
const Attempt = z.string().min(1).max(2_048);

export const SINGLE_SIGN_ON_OPERATIONS = {
  beginSingleSignOn: {
    call: 'POST /api/single-sign-on/begin',
    access: 'public',
    summary: "Begin to sign in at the identity provider; send the browser to the answer's URL",
    /** The attempt lasts ten minutes, for the browser that began it. */
    answer: z.object({ url: z.url(), attempt: Attempt }),
    codes: ['conflict', 'rate-limited'],
  },
  finishSingleSignOn: {
    call: 'POST /api/single-sign-on',
    access: 'public',
    summary: "Open a session by the identity provider's answer; an account that is new is made",
    body: z.strictObject({
      attempt: Attempt,
      /** The query with which the provider sent the browser back to `/single-sign-on`. */
      query: z.string().min(1).max(8_192),
      /** The token of an invitation to a team; a new account needs it where only the invited may
       * sign up. */
      invitation: InvitationToken.optional(),
    }),
    /** Instead of the session: the attempt with which to send the code of an account that has a
     * second factor. */
    answer: z.union([SessionAnswer, z.object({ attempt: Attempt })]),
    codes: ['conflict', 'credentials-invalid', 'sign-up-closed', 'rate-limited'],
  },
  proveSingleSignOn: {
    call: 'POST /api/single-sign-on/code',
    access: 'public',
    summary: 'Open the session of an account that has a second factor',
    body: z.strictObject({ attempt: Attempt, code: OneTimeCode }),
    answer: SessionAnswer,
    codes: ['conflict', 'credentials-invalid', 'code-invalid', 'rate-limited'],
  },
} as const satisfies Record<string, Declaration>;
