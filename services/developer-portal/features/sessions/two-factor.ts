import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { encodeQR } from 'qr';
import { type Account, RECOVERY_CODES_MAX, type TwoFactor } from '#shared/contracts/apps/client-app.ts';
import { DAY_MS, MINUTE_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import { Problem } from '#shared/http/problem.ts';
import { inStore } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import type { AccountWork } from '../accounts/account-work.ts';
import { charge } from '../accounts/prove-password.ts';
import { sha256 } from '../apps/credentials.ts';
import type { Basis } from '../basis.ts';

/** The settings that every authenticator app knows: RFC 6238's defaults. */
const SETTINGS = { issuer: 'Rolecall', algorithm: 'SHA1', digits: 6, period: 30 } as const;
const SECRET_BYTES = 20;
/** Codes of the step before and of the next one are accepted: clocks differ, and people type
 * slowly. */
const STEPS_AROUND = 1;
const SETUP_MS = 600_000;
/** White modules around a QR code, as the standard asks for. */
const QR_BORDER = 4;
/** Longer than a code can be accepted: three steps. */
const USED_MS = 600_000;
const RECOVERY_CODE_BYTES = 10;

type Change = (current: TwoFactor | undefined) => TwoFactor | undefined;

/**
 * Wrong codes of an account, from all addresses together. Only those who know the password get
 * here. Of a million codes three are right, so 50 guesses a day find one with a probability of
 * 0.015 %.
 */
const TRIES = { name: 'two-factor', countMax: 10, windowMs: 15 * MINUTE_MS } as const;
const TRIES_OF_DAY = { name: 'two-factor-day', countMax: 50, windowMs: DAY_MS } as const;

/** KEYS: last used step of an account. ARGV: step, how long it is kept in ms. 0 if the step or a
 * later one was used. */
const USE_STEP = `
if tonumber(redis.call('GET', KEYS[1]) or '-1') >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`;

/**
 * The second factor of accounts. The account's document has the secret, encrypted, and the hashes
 * of the recovery codes; Redis has the secret of a setup that is not finished, and the last step
 * whose code was used.
 */
export function makeTwoFactor({
  redis,
  box,
  throttle,
  accountWork,
  now,
}: Basis & { readonly accountWork: AccountWork }) {
  const useStep = makeScript<number>(redis, USE_STEP);

  const withinTries = async <T>({ accountId }: Account, check: () => Promise<T | undefined>): Promise<T> => {
    const tries = [TRIES, TRIES_OF_DAY].map((budget) => ({ budget, owner: accountId }));
    const found = await charge(throttle, tries, check);
    if (found === undefined)
      throw new Problem('code-invalid', 'The code is wrong, or was used already. Wait for the next one.');
    await throttle.refund(tries);
    return found;
  };

  /** Whether a code of the app is right and was not used; it is used from then on. */
  const useCode = async ({ accountId, email }: Account, secret: string, code: string): Promise<boolean> => {
    const timestamp = now();
    const delta = totpOf(secret, email).validate({ token: code, timestamp, window: STEPS_AROUND });
    if (delta === null) return false;
    const step = Math.floor(timestamp / 1_000 / SETTINGS.period) + delta;
    return (await useStep([`two-factor-step:${accountId}`], [step, USED_MS])) === 1;
  };

  const changeOwn = (account: Account, action: string, change: Change) =>
    accountWork.changeTwoFactor(account.accountId, account.accountId, action, change, account);

  const useRecoveryCode = async (account: Account, code: string): Promise<Account | undefined> => {
    const hash = recoveryHash(account.accountId, code);
    if (!account.twoFactor?.recoveryCodes.includes(hash)) return undefined;
    let isMine = false;
    const changed = await changeOwn(account, 'recovery-code-used', (current) => {
      isMine = current?.recoveryCodes.includes(hash) ?? false;
      return current && isMine
        ? { ...current, recoveryCodes: current.recoveryCodes.filter((one) => one !== hash) }
        : current;
    });
    return isMine ? changed : undefined;
  };

  return {
    /** Makes a secret that `enable` turns on within ten minutes; an earlier one is replaced.
     * @throws ServiceError `conflict` */
    async begin(account: Account) {
      requireOff(account);
      const secret = newSecret(SECRET_BYTES);
      const sealed = box.seal(secret, sealedFor(account));
      await inStore(() => redis.set(setupKey(account), sealed, 'PX', SETUP_MS));
      const uri = totpOf(secret, account.email).toString();
      return { secret, uri, qr: encodeQR(uri, 'svg', { ecc: 'medium', border: QR_BORDER }) };
    },
    /** Turns the second factor on, if the code is of the secret of `begin`. Sessions end. */
    async enable(account: Account, code: string) {
      requireOff(account);
      const sealed = await inStore(() => redis.get(setupKey(account)));
      if (sealed === null)
        throw new ServiceError('conflict', 'the setup is older than ten minutes; begin again');
      const secret = box.open(sealed, sealedFor(account));
      await withinTries(account, async () => (await useCode(account, secret, code)) || undefined);
      const recoveryCodes = newRecoveryCodes();
      const twoFactor = {
        encrypted: sealed,
        enabledAt: new Date(now()).toISOString(),
        recoveryCodes: recoveryCodes.map((one) => recoveryHash(account.accountId, one)),
      };
      const changed = await changeOwn(account, 'two-factor-enabled', (current) => {
        requireOff({ twoFactor: current });
        return twoFactor;
      });
      await inStore(() => redis.del(setupKey(account)));
      return { account: changed, recoveryCodes };
    },
    /**
     * Returns the account if it has no second factor or the code is right: of the app, or a
     * recovery code. Each is accepted once.
     *
     * @throws Problem `code-required`, `code-invalid`; ServiceError `rate-limited`
     */
    async prove(account: Account, code: string | undefined): Promise<Account> {
      const { twoFactor } = account;
      if (!twoFactor) return account;
      if (code === undefined)
        throw new Problem('code-required', 'Enter the code of your authenticator app, or a recovery code.');
      return withinTries(account, async () => {
        if (!/^\d{6}$/.test(code)) return useRecoveryCode(account, code);
        const secret = box.open(twoFactor.encrypted, sealedFor(account));
        return (await useCode(account, secret, code)) ? account : undefined;
      });
    },
    async renewRecoveryCodes(account: Account): Promise<string[]> {
      const recoveryCodes = newRecoveryCodes();
      const hashes = recoveryCodes.map((one) => recoveryHash(account.accountId, one));
      await changeOwn(account, 'recovery-codes-renewed', (current) => {
        if (!current) throw new ServiceError('conflict', 'two-factor authentication is off');
        return { ...current, recoveryCodes: hashes };
      });
      return recoveryCodes;
    },
    /** Turns the second factor off. Sessions end. */
    disable: (account: Account) => changeOwn(account, 'two-factor-disabled', () => undefined),
    /** The same for an operator. */
    reset: (actor: string, { accountId }: Account) =>
      accountWork.changeTwoFactor(actor, accountId, 'two-factor-reset', () => undefined),
    /** Encrypts the secret again with the newest key; its value stays the same. */
    reseal: (actor: string, account: Account) =>
      accountWork.changeTwoFactor(actor, account.accountId, 'secrets-resealed', (current) => {
        if (!current) return undefined;
        const encrypted = box.reseal(current.encrypted, sealedFor(account));
        return encrypted === current.encrypted ? current : { ...current, encrypted };
      }),
  };
}

const setupKey = ({ accountId }: Account): string => `two-factor-setup:${accountId}`;
/** The associated data of the secret: it opens for no other account, and as nothing else. */
const sealedFor = ({ accountId }: Pick<Account, 'accountId'>): string => `two-factor ${accountId}`;

const totpOf = (secret: string, email: string): TOTP =>
  new TOTP({ ...SETTINGS, label: email, secret: Secret.fromBase32(secret) });

function requireOff({ twoFactor }: { readonly twoFactor?: TwoFactor | undefined }): void {
  if (twoFactor) throw new ServiceError('conflict', 'two-factor authentication is on already');
}

const newSecret = (byteCount: number): string =>
  new Secret({ buffer: new Uint8Array(randomBytes(byteCount)).buffer }).base32;

/** 80 random bits each, in four groups: `k3f9-…`. */
const newRecoveryCodes = (): string[] =>
  Array.from({ length: RECOVERY_CODES_MAX }, () =>
    (newSecret(RECOVERY_CODE_BYTES).toLowerCase().match(/.{4}/g) ?? []).join('-'),
  );

/** Typed with or without dashes, blanks and capitals. */
const recoveryHash = (accountId: string, code: string): string =>
  sha256(`recovery ${accountId} ${code.toLowerCase().replace(/[^a-z0-9]/g, '')}`);
