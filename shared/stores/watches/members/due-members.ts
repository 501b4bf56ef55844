import { partitionOfMember } from '#shared/contracts/watches/watch.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import { GENERATION_KEY, ORDINARY_ACCESS, REQUIRE_VIEW } from '#shared/redis/view.ts';
import { type MemberName, nameOf, textOfName } from './watch-member-text.ts';

/** The members of a partition that are due, by when. */
export const dueKey = (partition: number): string => `wm-due:${partition}`;

/** The members that are to be checked by themselves, outside of sweeps. */
export type DueMembers = {
  /** Members that are due, the earliest first. They stay due until they were checked. */
  readonly due: (partition: number, nowMs: number, countMax: number) => Promise<MemberName[]>;
  /** When the first member of a partition was due. */
  readonly oldestDueAt: (partition: number) => Promise<number | undefined>;
  /** Whether a member waits for a check by itself. */
  readonly isDue: (name: MemberName) => Promise<boolean>;
  /** Makes members due then, unless they are due earlier. */
  readonly setDue: (names: readonly MemberName[], atMs: number) => Promise<void>;
  /** Takes members of a partition out of those that are due, if their due time is still this one. */
  readonly dropDue: (partition: number, names: readonly MemberName[], atMs: number) => Promise<void>;
  /** Defers the due time: the check was requested, and is requested again at the new time if no answer came. */
  readonly postpone: (names: readonly MemberName[], atMs: number) => Promise<void>;
};

/** KEYS: marker, due members. ARGV: access, due time, names. */
const DROP_DUE = `${REQUIRE_VIEW}
for i = 3, #ARGV do
  if tonumber(redis.call('ZSCORE', KEYS[2], ARGV[i]) or '') == tonumber(ARGV[2]) then redis.call('ZREM', KEYS[2], ARGV[i]) end
end
return 1
`;

export function makeDueMembers(redis: Redis): DueMembers {
  const dropDue = makeScript<number>(redis, DROP_DUE);
  /** One command for each partition. */
  const setTimes = (condition: 'LT' | 'XX', names: readonly MemberName[], atMs: number): Promise<void> =>
    inStore(async () => {
      const byKey = new Map<string, (string | number)[]>();
      for (const name of names) {
        const scored = byKey.get(keyOf(name)) ?? [];
        scored.push(atMs, textOfName(name));
        byKey.set(keyOf(name), scored);
      }
      await Promise.all([...byKey].map(([key, scored]) => redis.call('ZADD', key, condition, ...scored)));
    });
  return {
    due: (partition, nowMs, countMax) =>
      inStore(async () =>
        (await redis.zrangebyscore(dueKey(partition), '-inf', nowMs, 'LIMIT', 0, countMax)).map(nameOf),
      ),
    oldestDueAt: (partition) =>
      inStore(async () => {
        const [, score] = await redis.zrange(dueKey(partition), '0', '0', 'WITHSCORES');
        return score === undefined ? undefined : Number(score);
      }),
    isDue: (name) => inStore(async () => (await redis.zscore(keyOf(name), textOfName(name))) !== null),
    async dropDue(partition, names, atMs) {
      await dropDue([GENERATION_KEY, dueKey(partition)], [ORDINARY_ACCESS, atMs, ...names.map(textOfName)]);
    },
    setDue: (names, atMs) => setTimes('LT', names, atMs),
    postpone: (names, atMs) => setTimes('XX', names, atMs),
  };
}

const keyOf = ({ uid, memberId }: MemberName): string => dueKey(partitionOfMember(uid, memberId));
