import { HOUR_MS } from '#shared/contracts/durations.ts';
import type { Usage } from '#shared/contracts/usage/usage.ts';
import { inStore, LISTING_TIMEOUT_MS, type Redis } from '#shared/redis/connect.ts';
import { makeHolds } from '#shared/redis/holds.ts';
import { makeScript, pairsOf, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { END_INSTANT_LUA, logKey, monthCounterKey, watchShareKey } from '../checks/admit.ts';
import { dayOf, figuresFrom, hourOf, usageAppsKey, usageDayKey, usageHourKey } from './usage-days.ts';

const PUBLISH_LOCK_KEY = 'usage:publish-lock';

/**
 * KEYS: the log of the app's checks, the month's counter, the watches' share of it, the figures of the
 * day and of the hour. The instant separates the checks that are counted from later ones. Nothing is
 * read while the views are incomplete, because a counter that is not restored yet would count as 0.
 */
const READ = `${REQUIRE_VIEW}${END_INSTANT_LUA}
return {endInstant(KEYS[1]), redis.call('GET', KEYS[2]) or '0', redis.call('GET', KEYS[3]) or '0',
  redis.call('HGETALL', KEYS[4]), redis.call('HGETALL', KEYS[5])}
`;

/** A client app in one hour, counted since 1970. */
export type AppHour = { readonly clientId: string; readonly hour: number };

export function makeUsageFigures(redis: Redis) {
  const read = makeScript<[number, string, string, string[], string[]]>(redis, READ);
  const { take } = makeHolds(redis);
  const readOne = async ({ clientId, hour }: AppHour): Promise<Usage> => {
    const startsAt = new Date(hour * HOUR_MS).toISOString();
    const month = startsAt.slice(0, 7);
    const counter = monthCounterKey(clientId, month);
    const keys = [
      ...[logKey(clientId, 'per-second'), counter, watchShareKey(counter)],
      ...[usageDayKey(clientId, dayOf(hour * HOUR_MS)), usageHourKey(clientId, hour)],
    ];
    const [asOf, monthTotal, ofWatches, day, ofHour] = await read(keys, []);
    return {
      clientId,
      hour: startsAt.slice(0, 13),
      month,
      monthTotal: Number(monthTotal),
      monthOfWatches: Number(ofWatches),
      day: figuresFrom(pairsOf(day)),
      ofHour: figuresFrom(pairsOf(ofHour)),
      asOf: new Date(asOf).toISOString(),
    };
  };
  return {
    /** The apps that did something in the hour of `nowMs`, or in the one before. */
    async listRecent(nowMs: number): Promise<AppHour[]> {
      const hours = [hourOf(nowMs) - 1, hourOf(nowMs)];
      const found = await inStore(
        () => Promise.all(hours.map((hour) => redis.smembers(usageAppsKey(hour)))),
        LISTING_TIMEOUT_MS,
      );
      return found.flatMap((apps, i) => apps.map((clientId) => ({ clientId, hour: hours[i] ?? 0 })));
    },
    read: readOne,
    /** Whether this process is the one to publish now; for `forMs` no other one is. */
    lockPublishing: (forMs: number): Promise<boolean> => take(PUBLISH_LOCK_KEY, '1', forMs),
  };
}

export type UsageFigures = ReturnType<typeof makeUsageFigures>;
