import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { type MemberName, nameOf } from './watch-member-text.ts';

/**
 * The members of all wallets: a sorted set of `<wallet without 0x>/<uid>/<member id>`. Its order is
 * that of the names, so the members of a wallet in one watch are side by side, and those beyond a
 * bound are skipped without being read.
 */
export const WALLETS_KEY = 'wallets';

/** Wallets looked up at once. */
const WALLETS_MAX = 1_000;
/** Names after which a page of a wallet's members ends; it may be longer by those of one watch. */
const PAGE_NAMES = 1_000;

/** How a wallet, in lower case, is named there. */
export const digitsOf = (wallet: string): string => wallet.slice(2);

/**
 * KEYS: members of all wallets. ARGV: the wallet's digits, where the page begins
 * ('' for the first), names of a watch at most. Returns where the next page begins ('' for none) and
 * the names.
 */
const OF_WALLET = `${REQUIRE_VIEW}
local prefix, from, names = ARGV[1] .. '/', ARGV[2], {}
-- '0' follows '/': what begins with the prefix is below it.
local wholeEnd = '(' .. ARGV[1] .. '0'
if from == '' then from = '[' .. prefix end
while #names < ${PAGE_NAMES} do
  local first = redis.call('ZRANGEBYLEX', KEYS[1], from, wholeEnd, 'LIMIT', 0, 1)[1]
  if not first then return { '', names } end
  local ofWatch = string.match(first, '^[^/]*/[^/]*/[^/]*/[^/]*')
  from = '[' .. ofWatch .. '0'
  for _, entry in ipairs(redis.call('ZRANGEBYLEX', KEYS[1], '[' .. first, '(' .. ofWatch .. '0', 'LIMIT', 0, ARGV[3])) do
    names[#names + 1] = string.sub(entry, #prefix + 1)
  end
end
return { from, names }
`;

export function makeWalletIndex(redis: Redis) {
  const ofWallet = makeScript<[string, string[]]>(redis, OF_WALLET);
  return {
    /** In pages of some thousand; of each watch so many at most. */
    async *membersOf(wallet: string, ofWatchMax: number): AsyncIterable<MemberName[]> {
      let from = '';
      do {
        const [next, names] = await ofWallet([WALLETS_KEY], [digitsOf(wallet), from, ofWatchMax]);
        if (names.length > 0) yield names.map(nameOf);
        from = next;
      } while (from !== '');
    },
    /** Which of these wallets belong to a member of any watch. */
    async watchedAmong(wallets: readonly string[]): Promise<ReadonlySet<string>> {
      const watched = new Set<string>();
      for (let at = 0; at < wallets.length; at += WALLETS_MAX) {
        const part = wallets.slice(at, at + WALLETS_MAX);
        const found = await inStore(() =>
          Promise.all(
            part.map((wallet) => {
              const digits = digitsOf(wallet);
              return redis.zrangebylex(WALLETS_KEY, `[${digits}/`, `(${digits}0`, 'LIMIT', 0, 1);
            }),
          ),
        );
        for (const [index, wallet] of part.entries())
          if ((found[index] ?? []).length > 0) watched.add(wallet);
      }
      return watched;
    },
  };
}
