import { z } from 'zod';
import { CheckCause, MEMBER_PARTITIONS } from '#shared/contracts/watch.ts';
import { inStore, type Redis } from './connect.ts';
import { makeScript } from './script.ts';
import { EVERYDAY, GENERATION_KEY, REQUIRE_VIEW } from './view.ts';
import { sweepKey } from './watch-members.ts';

const RUNNING_KEY = 'wm-sweeps';
const NEXT_KEY = 'wm-next';
const openKey = (uid: string): string => `wm-sweep-open:${uid}`;

/*
 * A sweep of a watch: begun ──every partition has asked, every part was answered, or the time is up──► decided
 * ──every partition has settled──► ended. What is still to be done stands in a set: `ask/<p>`, a part's id, `settle/<p>`.
 */

/** KEYS: marker, sweep, open, running. ARGV: access, uid, sweep (its start, epoch ms), cause, rules, holders (JSON). */
const BEGIN = `${REQUIRE_VIEW}
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
redis.call('DEL', KEYS[3])
redis.call('HSET', KEYS[2], 'sweep', ARGV[3], 'cause', ARGV[4], 'rules', ARGV[5], 'holders', ARGV[6])
for p = 0, ${MEMBER_PARTITIONS - 1} do redis.call('SADD', KEYS[3], 'ask/' .. p) end
redis.call('ZADD', KEYS[4], ARGV[3], ARGV[2])
return 1
`;

/** KEYS: marker, sweep, open. ARGV: access, sweep, `SADD` or `SREM`, item. */
const CHANGE_OPEN = `${REQUIRE_VIEW}
if redis.call('HGET', KEYS[2], 'sweep') ~= ARGV[2] then return 0 end
return redis.call(ARGV[3], KEYS[3], ARGV[4])
`;

/** KEYS: marker, sweep, open. ARGV: access, sweep, roles to hold (JSON). The first decision stays. */
const DECIDE = `${REQUIRE_VIEW}
if redis.call('HGET', KEYS[2], 'sweep') ~= ARGV[2] then return false end
if redis.call('HSETNX', KEYS[2], 'hold', ARGV[3]) == 1 then
  redis.call('DEL', KEYS[3])
  for p = 0, ${MEMBER_PARTITIONS - 1} do redis.call('SADD', KEYS[3], 'settle/' .. p) end
end
return redis.call('HGET', KEYS[2], 'hold')
`;

/** KEYS: marker, sweep, open, running. ARGV: access, sweep, uid. */
const END = `${REQUIRE_VIEW}
if redis.call('HGET', KEYS[2], 'sweep') == ARGV[2] then redis.call('DEL', KEYS[2], KEYS[3]) end
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('ZREM', KEYS[4], ARGV[3]) end
return 1
`;

export type Sweep = {
  readonly uid: string;
  /** Its start, epoch ms of Redis's clock. */
  readonly sweep: number;
  readonly cause: CheckCause;
  readonly rules: string;
  /** By role id, before the sweep. */
  readonly holders: Readonly<Record<string, number>>;
  readonly revocations: ReadonlyMap<string, number>;
  /** Roles to hold, once it is decided. */
  readonly hold: readonly string[] | undefined;
  /** Partitions that have not asked for their checks yet. */
  readonly toAsk: readonly number[];
  /** Parts that were not answered yet. */
  readonly partCount: number;
  readonly toSettle: readonly number[];
};

export type WatchSweeps = {
  /** False where a sweep of the watch is running. */
  readonly begin: (sweep: Pick<Sweep, 'uid' | 'sweep' | 'cause' | 'rules' | 'holders'>) => Promise<boolean>;
  readonly running: () => Promise<string[]>;
  readonly read: (uid: string) => Promise<Sweep | undefined>;
  readonly addPart: (uid: string, sweep: number, part: string) => Promise<void>;
  /** A partition has asked (`ask/<p>`) or settled (`settle/<p>`), or a part was answered. */
  readonly finish: (uid: string, sweep: number, item: string) => Promise<void>;
  /** Decides once; returns the decision that stands. */
  readonly decide: (
    uid: string,
    sweep: number,
    holdRoles: readonly string[],
  ) => Promise<string[] | undefined>;
  readonly end: (uid: string, sweep: number) => Promise<void>;
  /** When the next sweep is due, epoch ms. */
  readonly nextAt: (uid: string) => Promise<number | undefined>;
  readonly setNext: (uid: string, atMs: number) => Promise<void>;
  readonly forget: (uid: string) => Promise<void>;
};

/** The sweeps of the watches: which are running, and what each has still to do. */
export function makeWatchSweeps(redis: Redis): WatchSweeps {
  const begin = makeScript<number>(redis, 'beginSweep', BEGIN);
  const changeOpen = makeScript<number>(redis, 'changeOpenOfSweep', CHANGE_OPEN);
  const decide = makeScript<string | null>(redis, 'decideSweep', DECIDE);
  const end = makeScript<number>(redis, 'endSweep', END);
  const keysOf = (uid: string) => [GENERATION_KEY, sweepKey(uid), openKey(uid)];
  return {
    begin: async ({ uid, sweep, cause, rules, holders }) =>
      (await begin(
        [...keysOf(uid), RUNNING_KEY],
        [EVERYDAY, uid, sweep, cause, rules, JSON.stringify(holders)],
      )) === 1,
    running: () => inStore(() => redis.zrange(RUNNING_KEY, '0', '-1')),
    async read(uid) {
      const [stored, open] = await inStore(() =>
        Promise.all([redis.hgetall(sweepKey(uid)), redis.smembers(openKey(uid))]),
      );
      const { sweep, cause, rules = '', holders = '{}', hold } = stored;
      if (sweep === undefined) return undefined;
      const of = (prefix: string) =>
        open.flatMap((item) => (item.startsWith(prefix) ? [Number(item.slice(prefix.length))] : []));
      const revocations = Object.entries(stored).flatMap(([name, value]) =>
        name.startsWith('revocations/') ? [[name.slice(12), Number(value)] as const] : [],
      );
      const [toAsk, toSettle] = [of('ask/'), of('settle/')];
      return {
        uid,
        sweep: Number(sweep),
        cause: CheckCause.parse(cause),
        rules,
        holders: z.record(z.string(), z.number()).parse(JSON.parse(holders)),
        revocations: new Map(revocations),
        hold: hold === undefined ? undefined : z.array(z.string()).parse(JSON.parse(hold)),
        toAsk,
        partCount: open.length - toAsk.length - toSettle.length,
        toSettle,
      };
    },
    addPart: async (uid, sweep, part) =>
      void (await changeOpen(keysOf(uid), [EVERYDAY, sweep, 'SADD', part])),
    finish: async (uid, sweep, item) => void (await changeOpen(keysOf(uid), [EVERYDAY, sweep, 'SREM', item])),
    async decide(uid, sweep, holdRoles) {
      const stood = await decide(keysOf(uid), [EVERYDAY, sweep, JSON.stringify(holdRoles)]);
      return stood === null ? undefined : z.array(z.string()).parse(JSON.parse(stood));
    },
    end: async (uid, sweep) => void (await end([...keysOf(uid), RUNNING_KEY], [EVERYDAY, sweep, uid])),
    nextAt: (uid) =>
      inStore(async () => {
        const at = await redis.hget(NEXT_KEY, uid);
        return at === null ? undefined : Number(at);
      }),
    setNext: (uid, atMs) => inStore(async () => void (await redis.hset(NEXT_KEY, uid, atMs))),
    forget: (uid) =>
      inStore(async () => {
        await Promise.all([
          redis.hdel(NEXT_KEY, uid),
          redis.unlink(sweepKey(uid), openKey(uid)),
          redis.zrem(RUNNING_KEY, uid),
        ]);
      }),
  };
}
