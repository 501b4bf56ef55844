import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { type MemberName, nameOf } from './watch-member-text.ts';

/*
 * The members of each wallet. Most wallets belong to one member: it is in a hash that the wallet
 * shares with others (`wallets:<last 3 digits>`), as `<number of the watch>/<member id>`, without
 * the id where it is the wallet. The hash is small enough to be kept packed: 60 bytes a wallet. All
 * other members are in a sorted set of the wallet (`wallet-members:<wallet>`, as
 * `<uid>/<member id>`). Its order is that of the names, so the members of a watch are side by side,
 * and those beyond a bound are skipped without being read.
 */

/** A longer value makes Redis unpack a hash: `hash-max-listpack-value`. */
const PACKED_BYTES_MAX = 64;
/** Wallets looked up at once. */
const WALLETS_MAX = 1_000;
/** Names after which a page of a wallet's members ends; it may be longer by those of one watch. */
const PAGE_NAMES = 1_000;
/** Watches by number, and numbers by uid. */
const [UIDS_KEY, NUMBERS_KEY] = ['wm-uids', 'wm-numbers'];

const bucketOf = (wallet: string): string => `wallets:${wallet.slice(-3)}`;
const fieldOf = (wallet: string): string => wallet.slice(2);
const sortedSetOf = (wallet: string): string => `wallet-members:${wallet}`;

/** Functions of a script that writes members: `addToWallet` and `removeFromWallet`. Both may be
 * repeated. */
export const LUA_WALLETS = `
local function shortName(wallet, name, id)
  local uid = string.sub(name, 1, #name - #id - 1)
  local number = redis.call('HGET', ofSystem('${NUMBERS_KEY}'), uid)
  if not number then
    -- The empty field counts: a number is never used for two watches.
    number = redis.call('HINCRBY', ofSystem('${NUMBERS_KEY}'), '', 1)
    redis.call('HSET', ofSystem('${NUMBERS_KEY}'), uid, number)
    redis.call('HSET', ofSystem('${UIDS_KEY}'), number, uid)
  end
  return number .. '/' .. (id == wallet and '' or id)
end
local function addToWallet(wallet, name, id)
  local bucket, field = ofSystem('wallets:' .. string.sub(wallet, -3)), string.sub(wallet, 3)
  local short, known = shortName(wallet, name, id), redis.call('HGET', bucket, field)
  if known == short then return end
  if not known and #short <= ${PACKED_BYTES_MAX} then redis.call('HSET', bucket, field, short)
  else redis.call('ZADD', ofSystem('wallet-members:' .. wallet), 0, name) end
end
local function removeFromWallet(wallet, name, id)
  local bucket, field = ofSystem('wallets:' .. string.sub(wallet, -3)), string.sub(wallet, 3)
  if redis.call('HGET', bucket, field) == shortName(wallet, name, id) then redis.call('HDEL', bucket, field) end
  redis.call('ZREM', ofSystem('wallet-members:' .. wallet), name)
end
`;

/**
 * KEYS: hash of the wallet, its sorted set. ARGV: field of the wallet, the wallet,
 * where the page begins ('-' for the first), names of a watch at most. Returns where the next page
 * begins ('' for none) and the names. The first page also has that of the hash.
 */
const OF_WALLET = `${REQUIRE_VIEW}
local from, ofWatchMax = ARGV[3], tonumber(ARGV[4])
local names = {}
if from == '-' then
  local short = redis.call('HGET', KEYS[1], ARGV[1])
  if short then
    local number, id = string.match(short, '^(%d+)/(.*)$')
    local uid = redis.call('HGET', ofSystem('${UIDS_KEY}'), number)
    if uid then names[#names + 1] = uid .. '/' .. (id == '' and ARGV[2] or id) end
  end
end
local pageEnd = #names + ${PAGE_NAMES}
while #names < pageEnd do
  local first = redis.call('ZRANGEBYLEX', KEYS[2], from, '+', 'LIMIT', 0, 1)[1]
  if not first then return { '', names } end
  local uid = string.match(first, '^[^/]*/[^/]*/[^/]*')
  -- '0' follows '/': the names of the watch are below it.
  from = '[' .. uid .. '0'
  for _, name in ipairs(redis.call('ZRANGEBYLEX', KEYS[2], '[' .. first, '(' .. uid .. '0', 'LIMIT', 0, ofWatchMax)) do
    names[#names + 1] = name
  end
end
return { from, names }
`;

export function makeWalletIndex(redis: Redis) {
  const ofWallet = makeScript<[string, string[]]>(redis, OF_WALLET);
  return {
    /** In pages of some thousand; of each watch so many at most. */
    async *membersOf(wallet: string, ofWatchMax: number): AsyncIterable<MemberName[]> {
      const keys = [bucketOf(wallet), sortedSetOf(wallet)];
      for (let from = '-'; from !== ''; ) {
        const [next, names] = await ofWallet(keys, [fieldOf(wallet), wallet, from, ofWatchMax]);
        if (names.length > 0) yield names.map(nameOf);
        from = next;
      }
    },
    /** Which of these wallets belong to a member of any watch. */
    async watchedAmong(wallets: readonly string[]): Promise<ReadonlySet<string>> {
      const watched = new Set<string>();
      for (let at = 0; at < wallets.length; at += WALLETS_MAX) {
        const part = wallets.slice(at, at + WALLETS_MAX);
        const found = await inStore(() =>
          Promise.all(
            part.map(async (wallet) => {
              const counts = await Promise.all([
                redis.hexists(bucketOf(wallet), fieldOf(wallet)),
                redis.exists(sortedSetOf(wallet)),
              ]);
              return counts.some((count) => count > 0);
            }),
          ),
        );
        for (const [index, wallet] of part.entries()) if (found[index]) watched.add(wallet);
      }
      return watched;
    },
    /** Takes the number of a watch without members back. */
    forget: (uid: string): Promise<void> =>
      inStore(async () => {
        const number = await redis.hget(NUMBERS_KEY, uid);
        if (number !== null) await redis.hdel(UIDS_KEY, number);
        await redis.hdel(NUMBERS_KEY, uid);
      }),
  };
}

/** The members of wallets, in lower case. Written with the members themselves. */
export type WalletIndex = ReturnType<typeof makeWalletIndex>;
