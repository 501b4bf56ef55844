import type { Account } from '#shared/contracts/apps/client-app.ts';
import { inStore } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import type { PortalConfig } from '../../config.ts';
import { credentialOf, idOfToken, newToken, sha256 } from '../apps/credentials.ts';
import type { Basis } from '../basis.ts';

/** Opening another ends the oldest. An account has rarely more than one for each browser. */
const SESSIONS_OF_ACCOUNT_MAX = 50;
/** The part of a token's digest that names its session; it cannot be turned into a cookie. */
const ID_CHARS = 32;

/** KEYS: sessions of an account. ARGV: digest of the token, the session as it was read, and as it is
 * then, idle time in ms. A session that was ended meanwhile stays ended. */
const TOUCH = `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return redis.call('PEXPIRE', KEYS[1], ARGV[4])
`;

export type SessionOrigin = {
  /** A short name, such as `Firefox on Linux`. */
  readonly browser: string;
  /** An IPv4 address, or the /64 network of an IPv6 address. */
  readonly address: string;
};

/** As Redis has it, by the SHA-256 of its token. */
type Session = SessionOrigin & {
  /** What the account signed in with: see `credentialOf`. */
  readonly credential: string;
  readonly startedAtMs: number;
  readonly usedAtMs: number;
};

export type Sessions = ReturnType<typeof makeSessions>;

/**
 * Sessions by tokens of 256 random bits; Redis stores only their SHA-256. A session is bound to the
 * password it was opened with: a new password, or the deletion of the account, ends all earlier
 * sessions at once.
 */
export function makeSessions(
  { redis, accounts, now }: Pick<Basis, 'redis' | 'accounts' | 'now'>,
  { idleMs, lifeMsMax }: PortalConfig['session'],
) {
  const touch = makeScript<number>(redis, TOUCH);
  const isInTime = ({ startedAtMs, usedAtMs }: Session): boolean =>
    startedAtMs + lifeMsMax > now() && usedAtMs + idleMs > now();
  const isLive = (session: Session, account: Account): boolean =>
    isInTime(session) && session.credential === credentialOf(account);
  const readAll = async ({ accountId }: Account): Promise<[digest: string, session: Session][]> =>
    Object.entries(await inStore(() => redis.hgetall(keyOf(accountId)))).map(([digest, json]) => [
      digest,
      JSON.parse(json) as Session,
    ]);
  /** Ends the sessions that are meant; how many there were. */
  const endSome = async ({ accountId }: Account, isMeant: (digest: string) => boolean) => {
    const digests = (await inStore(() => redis.hkeys(keyOf(accountId)))).filter(isMeant);
    return digests.length === 0 ? 0 : inStore(() => redis.hdel(keyOf(accountId), ...digests));
  };
  return {
    /** Opens a session and returns its token. Only the browser stores the token. */
    async open(account: Account, { browser, address }: SessionOrigin): Promise<string> {
      const key = keyOf(account.accountId);
      const all = await readAll(account);
      const live = all.filter(([, session]) => isInTime(session));
      live.sort(([, a], [, b]) => b.startedAtMs - a.startedAtMs);
      const kept = new Set(live.slice(0, SESSIONS_OF_ACCOUNT_MAX - 1));
      const ended = all.flatMap((one) => (kept.has(one) ? [] : [one[0]]));
      if (ended.length > 0) await inStore(() => redis.hdel(key, ...ended));
      const token = newToken(account.accountId);
      const session: Session = {
        ...{ browser, address, credential: credentialOf(account) },
        ...{ startedAtMs: now(), usedAtMs: now() },
      };
      await inStore(() => redis.hset(key, sha256(token), JSON.stringify(session)));
      await inStore(() => redis.pexpire(key, idleMs));
      return token;
    },
    /** The account of the session; `undefined` if there is none, or if the password was changed
     * since. A use extends the session, but never beyond its maximum lifetime. */
    async find(token: string): Promise<Account | undefined> {
      const accountId = idOfToken(token);
      if (accountId === undefined) return undefined;
      const [key, digest] = [keyOf(accountId), sha256(token)];
      const [account, stored] = await Promise.all([
        accounts.read(accountId),
        inStore(() => redis.hget(key, digest)),
      ]);
      if (stored === null || !account || account.deletedAt !== undefined) return undefined;
      const session = JSON.parse(stored) as Session;
      if (!isLive(session, account)) return undefined;
      await touch([key], [digest, stored, JSON.stringify({ ...session, usedAtMs: now() }), idleMs]);
      return account;
    },
    close: (token: string): Promise<void> =>
      inStore(async () => void (await redis.hdel(keyOf(idOfToken(token) ?? ''), sha256(token)))),
    /** The live sessions of an account, the last used first; that of the token is the current one. */
    list: async (account: Account, token = '') =>
      (await readAll(account))
        .filter(([, session]) => isLive(session, account))
        .sort(([, a], [, b]) => b.usedAtMs - a.usedAtMs)
        .map(([digest, { startedAtMs, usedAtMs, browser, address }]) => ({
          sessionId: digest.slice(0, ID_CHARS),
          startedAt: new Date(startedAtMs).toISOString(),
          usedAt: new Date(usedAtMs).toISOString(),
          browser,
          address,
          current: digest === sha256(token),
        })),
    /** Ends a session of the account. `false` if the account has no such session. */
    end: async (account: Account, sessionId: string): Promise<boolean> =>
      (await endSome(account, (digest) => digest.slice(0, ID_CHARS) === sessionId)) > 0,
    /** Ends all sessions of the account but the one of this token. */
    endOthers: async (account: Account, token: string): Promise<void> =>
      void (await endSome(account, (digest) => digest !== sha256(token))),
  };
}

const keyOf = (accountId: string): string => `sessions:${accountId}`;
