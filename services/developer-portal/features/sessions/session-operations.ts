import { z } from 'zod';
import { instant, OneTimeCode, TriedPassword } from '../../http/api.ts';
import { type Operation, READ, REMOVAL, WRITE } from '../../http/operation.ts';

const SessionList = z.array(
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
);
const RecoveryCodes = z.object({
  /** Each signs in once instead of a code; returned only in this answer. */
  recoveryCodes: z.array(z.string()),
});
const Setup = z.object({
  /** Base32, for apps that cannot read the QR code. */
  secret: z.string(),
  /** `otpauth://totp/…` */
  uri: z.string(),
  /** The URI as a QR code: an SVG document. */
  qr: z.string(),
});
const PasswordAndCode = z.strictObject({ password: TriedPassword.optional(), code: OneTimeCode });

const TWO_FACTOR = '/api/account/two-factor';

/** The operations on sessions and on the second factor of one's own account, by id. */
export const SESSION_OPERATIONS = {
  listSessions: {
    ...READ,
    path: '/api/sessions',
    summary: 'The live sessions of the account, the last used first; at most 50',
    answer: SessionList,
  },
  endSession: {
    ...REMOVAL,
    path: '/api/sessions/:sessionId',
    summary: 'End a session; its next request is refused',
  },
  endOtherSessions: {
    ...WRITE,
    path: '/api/sessions/end-others',
    summary: 'End all sessions of the account except the one of this request',
    endsSomething: true,
  },
  beginTwoFactor: {
    isOpenWithoutTwoFactor: true,
    ...WRITE,
    path: `${TWO_FACTOR}/begin`,
    summary: 'Make a secret for an authenticator app; it is turned on by a first code within ten minutes',
    body: z.strictObject({ password: TriedPassword.optional() }),
    answer: Setup,
    codes: ['credentials-invalid', 'conflict', 'rate-limited'],
  },
  enableTwoFactor: {
    isOpenWithoutTwoFactor: true,
    ...WRITE,
    path: TWO_FACTOR,
    summary: 'Turn the second factor on with a first code; all other sessions end',
    body: z.strictObject({ code: OneTimeCode }),
    answer: RecoveryCodes,
    codes: ['code-invalid', 'conflict', 'rate-limited'],
  },
  renewRecoveryCodes: {
    ...WRITE,
    path: `${TWO_FACTOR}/recovery-codes`,
    summary: 'Make new recovery codes; the earlier ones stop working',
    body: PasswordAndCode,
    answer: RecoveryCodes,
    codes: ['credentials-invalid', 'code-invalid', 'conflict', 'rate-limited'],
  },
  disableTwoFactor: {
    ...WRITE,
    path: `${TWO_FACTOR}/disable`,
    summary: 'Turn the second factor off; all other sessions end',
    body: PasswordAndCode,
    endsSomething: true,
    codes: ['credentials-invalid', 'code-invalid', 'conflict', 'rate-limited'],
  },
} as const satisfies Record<string, Operation>;
