import { HOUR_MS } from '#shared/contracts/durations.ts';
import type { Usage } from '#shared/contracts/usage/usage.ts';
import { inStore, LISTING_TIMEOUT_MS, type Redis } from '#shared/redis/connect.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { END_INSTANT_LUA, logKey, monthCounterKey, refundsKey } from '../checks/admit.ts';
import {
  dayOf,
  figuresFrom,
  hourOf,
  LUA_NOTE_ACTIVE,
  USAGE_KEPT_MS,
  usageAppsKey,
  usageDayKey,
} from './usage-days.ts';

export const usageKey = (clientId: string, hour: number): string => `usage:{${clientId}}:${hour}`;
const publishLockKey = 'usage:publish-lock';

/**
 * KEYS: usage of the hour, the month's counter, the day's figures, the log of the app's
 * checks, the month's refunds. The instant separates the checks that are counted from later ones.
 * Nothing is read while the views are incomplete, because a counter that is not rebuilt yet would
 * count as 0.
 */
const READ = `${REQUIRE_VIEW}${END_INSTANT_LUA}
local figures = redis.call('HMGET', KEYS[1], 'accepted', 'refused')
return {endInstant(KEYS[4]), figures[1] or '0', figures[2] or '0', redis.call('GET', KEYS[2]) or '0',
  redis.call('HGETALL', KEYS[3]), redis.call('GET', KEYS[5]) or '0'}
`;

/** KEYS: usage of the hour. ARGV: client app, accepted, refused, the hour. */
const RESTORE = `${REQUIRE_VIEW}${LUA_NOTE_ACTIVE}
redis.call('HSET', KEYS[1], 'accepted', ARGV[2], 'refused', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ${USAGE_KEPT_MS})
noteActive(ARGV[1], ARGV[4])
return 1
`;

/** A client app in one hour, counted since 1970. */
export type AppHour = { readonly clientId: string; readonly hour: number };

/**
 * @example
 * for (const appHour of await figures.listRecent(clock.now())) await publish(await figures.read(appHour));
 */
export function makeUsageFigures(redis: Redis) {
  const read = makeScript<[number, string, string, string, string[], string]>(redis, READ);
  const restore = makeScript<number>(redis, RESTORE);
  const readOne = async ({ clientId, hour }: AppHour): Promise<Usage> => {
    const startsAt = new Date(hour * HOUR_MS).toISOString();
    const month = startsAt.slice(0, 7);
    const counter = monthCounterKey(clientId, month);
    const day = usageDayKey(clientId, dayOf(hour * HOUR_MS));
    const log = logKey(clientId, 'per-second');
    const [asOf, accepted, refused, monthTotal, figures, monthRefunds] = await read(
      [usageKey(clientId, hour), counter, day, log, refundsKey(counter)],
      [],
    );
    return {
      clientId,
      hour: startsAt.slice(0, 13),
      accepted: Number(accepted),
      refused: Number(refused),
      month,
      monthTotal: Number(monthTotal),
      monthRefunds: Number(monthRefunds),
      day: figuresFrom(figures),
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
    lockPublishing: (forMs: number): Promise<boolean> =>
      inStore(async () => (await redis.set(publishLockKey, '1', 'PX', forMs, 'NX')) === 'OK'),
    /** Puts an hour's figures back, for a rebuilder. */
    async restore({
      clientId,
      hour,
      accepted,
      refused,
    }: Pick<Usage, 'clientId' | 'accepted' | 'refused'> & { readonly hour: number }): Promise<void> {
      const keys = [usageKey(clientId, hour)];
      await restore(keys, [clientId, accepted, refused, hour]);
    },
  };
}

/** The figures of client apps by hour, which admission counts. */
export type UsageFigures = ReturnType<typeof makeUsageFigures>;
