import { randomBytes } from 'node:crypto';
import type { Account } from '#shared/contracts/apps/client-app.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import { credentialOf, sha256 } from '../apps/credentials.ts';

const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Opening another ends the oldest. An account has rarely more than one for each browser. */
const SESSIONS_OF_ACCOUNT_MAX = 50;
/** The part of a token's digest that names its session; it cannot be turned into a cookie. */
const ID_CHARS = 32;

/** KEYS: session. ARGV: idle time in ms. A read extends the session, but never beyond its maximum
 * lifetime. */
const TOUCH = `
local found = redis.call('HMGET', KEYS[1], 'accountId', 'credential', 'endsAt', 'startedAt')
if not found[1] or not found[4] then return false end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local left = tonumber(found[3]) - now
if left <= 0 then redis.call('DEL', KEYS[1]) return false end
redis.call('HSET', KEYS[1], 'usedAt', now)
redis.call('PEXPIRE', KEYS[1], math.min(tonumber(ARGV[1]), left))
return {found[1], found[2]}
`;

/**
 * KEYS: session, sessions of the account. ARGV: digest of the token, account, credential, idle time
 * and longest life in ms, most sessions of an account, browser, address.
 */
const OPEN = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local life = tonumber(ARGV[5])
redis.call('HSET', KEYS[1], 'accountId', ARGV[2], 'credential', ARGV[3], 'endsAt', now + life,
  'startedAt', now, 'usedAt', now, 'browser', ARGV[7], 'address', ARGV[8])
redis.call('PEXPIRE', KEYS[1], math.min(tonumber(ARGV[4]), life))
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[6]) then
  for _, digest in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
    if redis.call('EXISTS', ofSystem('session:' .. digest)) == 0 then redis.call('ZREM', KEYS[2], digest) end
  end
end
while redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[6]) do
  redis.call('DEL', ofSystem('session:' .. redis.call('ZPOPMIN', KEYS[2])[1]))
end
redis.call('ZADD', KEYS[2], now, ARGV[1])
redis.call('PEXPIRE', KEYS[2], life)
return 1
`;

/** KEYS: sessions of the account. Returns digest, credential, start, last use, browser and address
 * of each. */
const LIST = `
local listed = {}
for _, digest in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local found = redis.call('HMGET', ofSystem('session:' .. digest), 'credential', 'startedAt', 'usedAt', 'browser', 'address')
  if found[1] then table.insert(listed, {digest, unpack(found)}) else redis.call('ZREM', KEYS[1], digest) end
end
return listed
`;

/** KEYS: sessions of the account. ARGV: id of a session, 'one' to end it or 'others' to end all but
 * it. */
const END = `
local ended = 0
for _, digest in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if (string.sub(digest, 1, ${ID_CHARS}) == ARGV[1]) == (ARGV[2] == 'one') then
    ended = ended + redis.call('DEL', ofSystem('session:' .. digest))
    redis.call('ZREM', KEYS[1], digest)
  end
end
return ended
`;

/** Where a session was opened. */
export type SessionOrigin = {
  /** A short name, such as `Firefox on Linux`. */
  readonly browser: string;
  /** An IPv4 address, or the /64 network of an IPv6 address. */
  readonly address: string;
};

export type Sessions = ReturnType<typeof makeSessions>;

type Options = {
  readonly redis: Redis;
  readonly readAccount: (accountId: string) => Promise<Account | undefined>;
  /** A session ends after this long without use. */
  readonly idleMs: number;
  /** A session ends this long after sign-in, even if it is in use. */
  readonly lifeMsMax: number;
};

/** The id of a token's session. */
export const sessionIdOf = (token: string): string => sha256(token).slice(0, ID_CHARS);

/**
 * Sessions by tokens of 256 random bits; Redis stores only their SHA-256. A session is bound to the
 * password it was opened with: a new password, or the deletion of the account, ends all earlier
 * sessions at once.
 *
 * @example
 * const token = await sessions.open(account, { browser: 'Firefox on Linux', address: '192.0.2.1' });
 * const account = await sessions.find(token);
 */
export function makeSessions({ redis, readAccount, idleMs, lifeMsMax }: Options) {
  const touch = makeScript<[string, string] | null>(redis, TOUCH);
  const openSession = makeScript<number>(redis, OPEN);
  const listSessions = makeScript<[string, string, string, string, string, string][]>(redis, LIST);
  const endSessions = makeScript<number>(redis, END);
  return {
    /** Opens a session and returns its token. Only the browser stores the token. */
    async open(account: Account, { browser, address }: SessionOrigin): Promise<string> {
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      const whose = [sha256(token), account.accountId, credentialOf(account)];
      await openSession(
        [keyOf(token), listKeyOf(account)],
        [...whose, idleMs, lifeMsMax, SESSIONS_OF_ACCOUNT_MAX, browser, address],
      );
      return token;
    },
    /** The account of the session; `undefined` if there is none, or if the password was changed
     * since. */
    async find(token: string): Promise<Account | undefined> {
      if (!TOKEN.test(token)) return undefined;
      const found = await touch([keyOf(token)], [idleMs]);
      if (!found) return undefined;
      const [accountId, credential] = found;
      const account = await readAccount(accountId);
      if (!account || account.deletedAt !== undefined) return undefined;
      return credentialOf(account) === credential ? account : undefined;
    },
    close: (token: string): Promise<void> => inStore(async () => void (await redis.del(keyOf(token)))),
    /** The live sessions of an account, the last used first. */
    async list(account: Account) {
      const credential = credentialOf(account);
      return (await listSessions([listKeyOf(account)], []))
        .filter(([, bound]) => bound === credential)
        .sort((a, b) => Number(b[3]) - Number(a[3]))
        .map(([digest, , startedAt, usedAt, browser, address]) => ({
          sessionId: digest.slice(0, ID_CHARS),
          startedAt: new Date(Number(startedAt)).toISOString(),
          usedAt: new Date(Number(usedAt)).toISOString(),
          browser,
          address,
        }));
    },
    /** Ends a session of the account. `false` if the account has no such session. */
    end: async (account: Account, sessionId: string): Promise<boolean> =>
      (await endSessions([listKeyOf(account)], [sessionId, 'one'])) > 0,
    /** Ends all sessions of the account but the one of this token. */
    async endOthers(account: Account, token: string): Promise<void> {
      await endSessions([listKeyOf(account)], [sessionIdOf(token), 'others']);
    },
  };
}

const keyOf = (token: string): string => `session:${sha256(token)}`;
const listKeyOf = ({ accountId }: Account): string => `sessions-of:${accountId}`;
