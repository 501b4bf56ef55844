import { z } from 'zod';
import { OneTimeCode, TriedPassword } from '../../http/api.ts';
import type { Operation } from '../../operation.ts';

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
  .strictObject({ password: TriedPassword, code: OneTimeCode })
  .meta({ id: 'PasswordAndCode' });

const path = <P extends string>(rest: P) => `/api/account/two-factor${rest}` as const;

/** The operations on the second factor of one's own account, by id. */
export const TWO_FACTOR_OPERATIONS = {
  beginTwoFactor: {
    method: 'post',
    path: path('/begin'),
    access: 'session',
    summary: 'Make a secret for an authenticator app; it is turned on by a first code within ten minutes',
    body: z.strictObject({ password: TriedPassword }).meta({ id: 'BeginTwoFactor' }),
    status: 200,
    answer: Setup,
    codes: ['credentials-invalid', 'conflict', 'rate-limited'],
  },
  enableTwoFactor: {
    method: 'post',
    path: path(''),
    access: 'session',
    summary: 'Turn the second factor on with a first code; all other sessions end',
    body: z.strictObject({ code: OneTimeCode }).meta({ id: 'EnableTwoFactor' }),
    status: 200,
    answer: RecoveryCodes,
    codes: ['code-invalid', 'conflict', 'rate-limited'],
  },
  renewRecoveryCodes: {
    method: 'post',
    path: path('/recovery-codes'),
    access: 'session',
    summary: 'Make new recovery codes; the earlier ones stop working',
    body: PasswordAndCode,
    status: 200,
    answer: RecoveryCodes,
    codes: ['credentials-invalid', 'code-invalid', 'conflict', 'rate-limited'],
  },
  disableTwoFactor: {
    method: 'post',
    path: path('/disable'),
    access: 'session',
    summary: 'Turn the second factor off; all other sessions end',
    body: PasswordAndCode,
    endsSomething: true,
    status: 204,
    codes: ['credentials-invalid', 'code-invalid', 'conflict', 'rate-limited'],
  },
} as const satisfies Record<string, Operation>;
