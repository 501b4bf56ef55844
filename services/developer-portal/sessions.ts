import { createHash, randomBytes } from 'node:crypto';
import type { Account } from '#shared/contracts/client-app.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';

const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** KEYS: session. ARGV: idle time in ms. A read extends the session, but never beyond its maximum lifetime. */
const TOUCH = `
local found = redis.call('HMGET', KEYS[1], 'accountId', 'credential', 'endsAt')
if not found[1] then return false end
local time = redis.call('TIME')
local left = tonumber(found[3]) - (time[1] * 1000 + math.floor(time[2] / 1000))
if left <= 0 then redis.call('DEL', KEYS[1]) return false end
redis.call('PEXPIRE', KEYS[1], math.min(tonumber(ARGV[1]), left))
return {found[1], found[2]}
`;

/** KEYS: session. ARGV: account, credential, idle time and longest life in ms. */
const OPEN = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'accountId', ARGV[1], 'credential', ARGV[2], 'endsAt', now + tonumber(ARGV[4]))
redis.call('PEXPIRE', KEYS[1], math.min(tonumber(ARGV[3]), tonumber(ARGV[4])))
return 1
`;

export type Sessions = {
  /** Opens a session and returns its token. Only the browser stores the token. */
  readonly open: (account: Account) => Promise<string>;
  /** The account of the session; `undefined` if there is none, or if the password was changed since. */
  readonly find: (token: string) => Promise<Account | undefined>;
  readonly close: (token: string) => Promise<void>;
};

type Options = {
  readonly redis: Redis;
  readonly readAccount: (accountId: string) => Promise<Account | undefined>;
  /** A session ends after this long without use. */
  readonly idleMs: number;
  /** A session ends this long after sign-in, even if it is in use. */
  readonly lifeMsMax: number;
};

/**
 * Sessions by tokens of 256 random bits; Redis stores only their SHA-256. A session is bound to the password it was
 * opened with: a new password, or the deletion of the account, ends all earlier sessions at once.
 *
 * @example
 * const token = await sessions.open(account);
 * const account = await sessions.find(token);
 */
export function makeSessions({ redis, readAccount, idleMs, lifeMsMax }: Options): Sessions {
  const touch = makeScript<[string, string] | null>(redis, 'touchSession', TOUCH);
  const openSession = makeScript<number>(redis, 'openSession', OPEN);
  return {
    async open(account) {
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      await openSession([keyOf(token)], [account.accountId, credentialOf(account), idleMs, lifeMsMax]);
      return token;
    },
    async find(token) {
      if (!TOKEN.test(token)) return undefined;
      const found = await touch([keyOf(token)], [idleMs]);
      if (!found) return undefined;
      const [accountId, credential] = found;
      const account = await readAccount(accountId);
      if (!account || account.deletedAt !== undefined) return undefined;
      return credentialOf(account) === credential ? account : undefined;
    },
    close: (token) => inStore(async () => void (await redis.del(keyOf(token)))),
  };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const keyOf = (token: string): string => `session:${sha256(token)}`;
const credentialOf = ({ passwordHash = '' }: Account): string => sha256(`credential ${passwordHash}`);
