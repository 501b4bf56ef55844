import type { DayFigures } from '#shared/contracts/day-figures.ts';
import { DAY_MS } from '../contracts/durations.ts';
import { inStore, type Redis } from './connect.ts';
import { makeScript } from './script.ts';
import { GENERATION_KEY, REQUIRE_VIEW, type ViewAccess } from './view.ts';

/** A day's figures are kept that long after the day. */
export const DAY_KEPT_MS = 40 * DAY_MS;

/** Days since 1970, as the keys have them: admission's script works them out of its clock. */
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
export const dayOfDate = (date: string): number => dayOf(Date.parse(`${date}T00:00:00Z`));
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

export const usageDayKey = (clientId: string, day: number): string => `usage-day:{${clientId}}:${day}`;

/** A hash as Lua gives it: names and values in turn. */
export const figuresFrom = (flat: readonly string[]): DayFigures =>
  Object.fromEntries(
    Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i] ?? '', Number(flat[2 * i + 1])]),
  );

/** KEYS: marker, the day. ARGV: access, ms until it ends, names and values. */
const RESTORE = `${REQUIRE_VIEW}
redis.call('DEL', KEYS[2])
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1
`;

/** What client apps did by day: written where first results are saved and where requests are refused. */
export type UsageDays = {
  /** In the order of `days`, which are counted since 1970; a day without anything is empty. */
  readonly read: (clientId: string, days: readonly number[]) => Promise<DayFigures[]>;
  /** Puts a day in the place of what there is, for a rebuilder. */
  readonly restore: (clientId: string, day: number, figures: DayFigures, access: ViewAccess) => Promise<void>;
};

/**
 * @example
 * const [today] = await makeUsageDays(redis).read('app_1', [dayOf(clock.now())]);
 */
export function makeUsageDays(redis: Redis): UsageDays {
  const restore = makeScript<number>(redis, 'restoreUsageDay', RESTORE);
  return {
    read: (clientId, days) =>
      inStore(() =>
        Promise.all(
          days.map(async (day) => {
            const stored = await redis.hgetall(usageDayKey(clientId, day));
            return Object.fromEntries(Object.entries(stored).map(([name, value]) => [name, Number(value)]));
          }),
        ),
      ),
    async restore(clientId, day, figures, access) {
      const flat = Object.entries(figures).flat();
      if (flat.length === 0) return;
      await restore([GENERATION_KEY, usageDayKey(clientId, day)], [access, DAY_KEPT_MS, ...flat]);
    },
  };
}
