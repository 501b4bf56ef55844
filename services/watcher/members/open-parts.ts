import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import { luaHeldPlaces } from '#shared/fairness/held-places.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { LUA_NOW } from '#shared/redis/fence.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';

/**
 * Parts of all watches that may wait for their results: by the rule of `FairShares`, of one account
 * alone 750, of one client app alone 500. The watches of one account must not fill the lane.
 */
const PARTS_MAX = 2_000;
/** Sweeps share fewer, and so leave some to new members and to transfers: of one account alone 600,
 * of one client app alone 400. */
const SWEEP_PARTS_MAX = 1_600;
/** A part whose result is lost no longer counts then. */
const PART_MS_MAX = 15 * 60_000;

const LUA_HELD_PARTS = luaHeldPlaces({
  ...{ name: 'watch-parts', countMax: PARTS_MAX, place: 1 },
  leaseMs: PART_MS_MAX,
});

/** ARGV: request id, account, client app, most parts that are shared. */
const TAKE = `${REQUIRE_VIEW}${LUA_NOW}${LUA_HELD_PARTS}
return takePlaces(ARGV[1], ARGV[2], ARGV[3], 1, now, tonumber(ARGV[4])) and 1 or 0
`;

const GIVE = `${REQUIRE_VIEW}${LUA_HELD_PARTS}
freePlaces(ARGV[1])
return 1
`;

/**
 * The parts of watches that wait for their results.
 *
 * @example
 * const openParts = makeOpenParts(redis);
 * if (!(await openParts.take(watch, 'watch_7'))) return;
 */
export function makeOpenParts(redis: Redis) {
  const take = makeScript<number>(redis, TAKE);
  const give = makeScript<number>(redis, GIVE);
  return {
    /** Counts a part; false if too many wait already. */
    async take(
      { accountId, clientId }: AppOwner,
      requestId: string,
      { isOfSweep = false } = {},
    ): Promise<boolean> {
      const countMax = isOfSweep ? SWEEP_PARTS_MAX : PARTS_MAX;
      return (await take([], [requestId, accountId, clientId, countMax])) === 1;
    },
    /** The part has its result, or was not published. */
    async give(requestId: string): Promise<void> {
      await give([], [requestId]);
    },
  };
}

export type OpenParts = ReturnType<typeof makeOpenParts>;
