import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Owner } from '#shared/fairness/fair-shares.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';

/*
 * N = 2^15, r = 8, p = 3: one of the settings of equal strength that OWASP's Password Storage Cheat
 * Sheet names for scrypt (read in November 2026), 32 MiB each. Stored as a PHC string, so that the
 * settings can change later: $scrypt$ln=15,r=8,p=3$<salt>$<hash>, base64 without padding.
 */
const SETTINGS = { ln: 15, r: 8, p: 3 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Stored passwords with a larger cost are refused: this one takes 128 MiB. */
const LN_MAX = 17;
const PHC = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

/** Each takes 32 MiB and a thread of libuv's four for about 0.1 s: the rest of the process keeps
 * two. */
const AT_ONCE_MAX = 2;
const WAITING_MAX = 64;

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

export type Passwords = ReturnType<typeof makePasswords>;

/**
 * Hashes and verifies passwords, a bounded number at a time, with a fair queue per owner.
 *
 * @param ln the logarithm of the cost N of new passwords: below 15 for tests only. A stored
 *   password names its own.
 */
export function makePasswords({ ln = SETTINGS.ln as number, waitingMax = WAITING_MAX } = {}) {
  const { r, p } = SETTINGS;
  const nobody: Stored = { ln, r, p, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) };
  const queue = new FairTaskQueue({
    atOnceMax: AT_ONCE_MAX,
    waitingMax,
    refusal: 'too many password checks are waiting',
  });
  return {
    /**
     * @param owner the queue it waits in: the visitor's
     * @throws ServiceError `overloaded`
     */
    hash: (password: string, owner: Owner): Promise<string> =>
      queue.run(owner, async () => {
        const salt = randomBytes(SALT_BYTES);
        const hash = await stretch(password, salt, { ln, r, p });
        return `$scrypt$ln=${ln},r=${r},p=${p}$${unpadded(salt)}$${unpadded(hash)}`;
      }),
    /** Takes the same time if `stored` is missing, so that the duration does not show whether the
     * account exists. */
    verify: (password: string, stored: string | undefined, owner: Owner): Promise<boolean> =>
      queue.run(owner, async () => {
        const known = parse(stored ?? '');
        const { salt, hash, ...settings } = known ?? nobody;
        const isEqual = timingSafeEqual(await stretch(password, salt, settings), hash);
        return isEqual && known !== undefined;
      }),
  };
}

type Settings = { readonly ln: number; readonly r: number; readonly p: number };
type Stored = Settings & { readonly salt: Buffer; readonly hash: Buffer };

/** NFKC, so that the same characters typed on another system are the same password (NIST SP
 * 800-63B). */
function stretch(password: string, salt: Buffer, { ln, r, p }: Settings): Promise<Buffer> {
  const cost = 2 ** ln;
  return derive(password.normalize('NFKC'), salt, HASH_BYTES, {
    cost,
    blockSize: r,
    parallelization: p,
    maxmem: 256 * cost * r,
  });
}

function parse(stored: string): Stored | undefined {
  const [, ln, r, p, salt = '', hash = ''] = PHC.exec(stored) ?? [];
  if (ln === undefined || Number(ln) > LN_MAX) return undefined;
  return {
    ln: Number(ln),
    r: Number(r),
    p: Number(p),
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
