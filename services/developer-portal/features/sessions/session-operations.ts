import { z } from 'zod';
import { instant, OneTimeCode, TriedPassword } from '../../http/api.ts';
import { type Operation, READ, REMOVAL } from '../../http/operation.ts';

const SessionList = z.array(
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
const RecoveryCodes = z
  .object({
    /** Each signs in once instead of a code; returned only in this answer. */
    recoveryCodes: z.array(z.string()),
  })
  .meta({ id: 'RecoveryCodes' });
const Setup = z
  .object({
    /** Base32, for apps that cannot read the QR code. */
    secret: z.string(),
    /** `otpauth://totp/…` */
    uri: z.string(),
    /** The URI as a QR code: an SVG path in a square of `size` units. */
    qr: z.object({ size: z.number().int().positive(), path: z.string() }),
  })
  .meta({ id: 'TwoFactorSetup' });
const PasswordAndCode = z
  .strictObject({ password: TriedPassword.optional(), code: OneTimeCode })
  .meta({ id: 'PasswordAndCode' });

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
    method: 'post',
    path: '/api/sessions/end-others',
    access: 'session',
    summary: 'End all sessions of the account except the one of this request',
    endsSomething: true,
    status: 204,
    codes: [],
  },
  beginTwoFactor: {
    isOpenWithoutTwoFactor: true,
    method: 'post',
    path: `${TWO_FACTOR}/begin`,
    access: 'session',
    summary: 'Make a secret for an authenticator app; it is turned on by a first code within ten minutes',
    body: z.strictObject({ password: TriedPassword.optional() }).meta({ id: 'BeginTwoFactor' }),
    status: 200,
    answer: Setup,
    codes: ['credentials-invalid', 'conflict', 'rate-limited'],
  },
  enableTwoFactor: {
    isOpenWithoutTwoFactor: true,
    method: 'post',
    path: TWO_FACTOR,
    access: 'session',
    summary: 'Turn the second factor on with a first code; all other sessions end',
    body: z.strictObject({ code: OneTimeCode }).meta({ id: 'EnableTwoFactor' }),
    status: 200,
    answer: RecoveryCodes,
    codes: ['code-invalid', 'conflict', 'rate-limited'],
  },
  renewRecoveryCodes: {
    method: 'post',
    path: `${TWO_FACTOR}/recovery-codes`,
    access: 'session',
    summary: 'Make new recovery codes; the earlier ones stop working',
    body: PasswordAndCode,
    status: 200,
    answer: RecoveryCodes,
    codes: ['credentials-invalid', 'code-invalid', 'conflict', 'rate-limited'],
  },
  disableTwoFactor: {
    method: 'post',
    path: `${TWO_FACTOR}/disable`,
    access: 'session',
    summary: 'Turn the second factor off; all other sessions end',
    body: PasswordAndCode,
    endsSomething: true,
    status: 204,
    codes: ['credentials-invalid', 'code-invalid', 'conflict', 'rate-limited'],
  },
} as const satisfies Record<string, Operation>;
