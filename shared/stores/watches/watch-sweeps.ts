import { z } from 'zod';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { MEMBER_PARTITIONS } from '#shared/contracts/watches/watch.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript, REQUIRE_VIEW, viewCommand } from '#shared/redis/script.ts';
import { setDueTime } from './watches.ts';

const RUNNING_KEY = 'wm-sweeps';
const NEXT_KEY = 'wm-next';
const GAP_KEY = 'wm-gap';
const sweepKey = (uid: string): string => `wm-sweep:${uid}`;
const openKey = (uid: string): string => `wm-sweep-open:${uid}`;

/*
 * A sweep of a watch:
 *
 *   begun ──every partition has asked, every part was answered, or the time is up──► decided
 *   decided ──every partition has settled──► ended, or begun again for those it has not asked
 *
 * A set holds the remaining tasks: `ask/<p>`, a part's id, `settle/<p>`. A sweep whose revocations
 * waited for second checks begins once more without tasks (`settlement`): it is decided at once.
 */

/** Why a sweep began. What each kind means is in the watcher's README. */
export const SweepKind = z.enum(['schedule', 'asked', 'rule-set', 'gap', 'settlement']);
export type SweepKind = z.infer<typeof SweepKind>;

/** Adds a task for each partition of a watch that has members. */
const LUA_ADD_TASKS = `
local function addTasks(uid, open, kind)
  for p = 0, ${MEMBER_PARTITIONS - 1} do
    if redis.call('EXISTS', ofSystem('wm:' .. uid .. ':' .. p)) == 1 then redis.call('SADD', open, kind .. p) end
  end
end
`;

/**
 * KEYS: sweep, open, running, next sweeps. ARGV: uid, sweep (its start, epoch ms),
 * kind, rules, holders (JSON), the next due time. Partitions without members have nothing to ask.
 * It takes the place of a scheduled sweep that is due, whatever its kind, but a settlement does
 * not.
 */
const BEGIN = `${REQUIRE_VIEW}${LUA_ADD_TASKS}
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[1], 'sweep', ARGV[2], 'kind', ARGV[3], 'rules', ARGV[4], 'holders', ARGV[5])
redis.call('ZADD', KEYS[3], ARGV[2], ARGV[1])
if ARGV[3] == 'settlement' then return 1 end
addTasks(ARGV[1], KEYS[2], 'ask/')
local next = tonumber(redis.call('ZSCORE', KEYS[4], ARGV[1]) or '') or math.huge
if next <= tonumber(ARGV[2]) then redis.call('ZADD', KEYS[4], ARGV[6], ARGV[1]) end
return 1
`;

/** KEYS: sweep, open. ARGV: sweep, `SADD` or `SREM`, item. */
const CHANGE_OPEN = `${REQUIRE_VIEW}
if redis.call('HGET', KEYS[1], 'sweep') ~= ARGV[1] then return 0 end
return redis.call(ARGV[2], KEYS[2], ARGV[3])
`;

/**
 * KEYS: sweep, open. ARGV: sweep, decision (JSON), uid. The first decision stays.
 * Without sweeps that hold something back there is nothing to settle. The partitions that have not
 * asked stay known.
 */
const DECIDE = `${REQUIRE_VIEW}${LUA_ADD_TASKS}
if redis.call('HGET', KEYS[1], 'sweep') ~= ARGV[1] then return false end
local isFirst = redis.call('HSETNX', KEYS[1], 'decision', ARGV[2]) == 1
if isFirst and #cjson.decode(ARGV[2]).sweeps > 0 then addTasks(ARGV[3], KEYS[2], 'settle/') end
return redis.call('HGET', KEYS[1], 'decision')
`;

/** KEYS: sweep, open. ARGV: sweep, start of the next one, its holders (JSON). The remaining tasks of
 * the next one are the partitions that this one has not asked. */
const BEGIN_REST = `${REQUIRE_VIEW}
if redis.call('HGET', KEYS[1], 'sweep') ~= ARGV[1] then return 0 end
for _, item in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if string.sub(item, 1, 4) ~= 'ask/' then redis.call('SREM', KEYS[2], item) end
end
redis.call('HSETNX', KEYS[1], 'since', ARGV[1])
redis.call('HSET', KEYS[1], 'sweep', ARGV[2], 'holders', ARGV[3])
return redis.call('HDEL', KEYS[1], 'decision')
`;

/**
 * KEYS: next sweeps, last sweeps for a gap. ARGV: uid, now, least distance in ms.
 * The next sweep is brought forward, but keeps the least distance from the last sweep.
 */
const SET_NEXT_AFTER_GAP = `${REQUIRE_VIEW}
local last = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0')
local at = math.max(tonumber(ARGV[2]), last + tonumber(ARGV[3]))
local next = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '') or math.huge
if next <= at then return 0 end
redis.call('ZADD', KEYS[1], string.format('%.0f', at), ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], string.format('%.0f', at))
return 1
`;

/** KEYS: sweep, open, running. ARGV: sweep, uid. */
const END = `${REQUIRE_VIEW}
if redis.call('HGET', KEYS[1], 'sweep') == ARGV[1] then redis.call('DEL', KEYS[1], KEYS[2]) end
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('ZREM', KEYS[3], ARGV[2]) end
return 1
`;

export type Sweep = {
  readonly uid: string;
  /** Its start, epoch ms of Redis's clock. */
  readonly sweep: number;
  /** The start of the first one, where it goes on with others that had no time to ask everybody. */
  readonly since: number;
  readonly kind: SweepKind;
  readonly rules: string;
  /** By role id, before the sweep. */
  readonly holders: ReadonlyMap<string, number>;
  /** Once it is decided. */
  readonly decision: SweepDecision | undefined;
  /** Partitions that have not asked for their checks yet. */
  readonly toAsk: readonly number[];
  /** Parts that were not answered yet. */
  readonly partCount: number;
  readonly toSettle: readonly number[];
};

const Held = z.object({ id: z.string(), holders: z.number(), revocations: z.number() });
const SweepDecision = z.object({
  /** The sweeps whose revocations are decided with it. */
  sweeps: z.array(z.number()),
  /** Roles whose revocations are held. */
  hold: z.array(Held),
});
/** The treatment of the revocations that a sweep holds back. */
export type SweepDecision = z.infer<typeof SweepDecision>;

const jsonOfHolders = (holders: Sweep['holders']): string => JSON.stringify(Object.fromEntries(holders));
/** Not by a zod record, which drops a role with the id `__proto__`. */
const parseHolders = (json: string): Sweep['holders'] =>
  new Map(Object.entries(JSON.parse(json) as Record<string, number>));

/** The sweeps of the watches: which are running, and the remaining tasks of each. */
export function makeWatchSweeps(redis: Redis) {
  const begin = makeScript<number>(redis, BEGIN);
  const changeOpen = makeScript<number>(redis, CHANGE_OPEN);
  const decide = makeScript<string | null>(redis, DECIDE);
  const beginRest = makeScript<number>(redis, BEGIN_REST);
  const addNext = makeScript<number>(redis, viewCommand('ZADD'));
  const setNextAfterGap = makeScript<number>(redis, SET_NEXT_AFTER_GAP);
  const end = makeScript<number>(redis, END);
  const keysOf = (uid: string) => [sweepKey(uid), openKey(uid)];
  return {
    /** False where a sweep of the watch is running. If one was due, the next one is due at
     * `nextAtMs` (epoch ms) from then on. */
    begin: async (
      { uid, sweep, kind, rules, holders }: Pick<Sweep, 'uid' | 'sweep' | 'kind' | 'rules' | 'holders'>,
      nextAtMs: number,
    ): Promise<boolean> =>
      (await begin(
        [...keysOf(uid), RUNNING_KEY, NEXT_KEY],
        [uid, sweep, kind, rules, jsonOfHolders(holders), nextAtMs],
      )) === 1,
    running: (): Promise<string[]> => inStore(() => redis.zrange(RUNNING_KEY, '0', '-1')),
    /** When the oldest running sweep of all watches began, epoch ms. */
    oldestAt: (): Promise<number | undefined> =>
      inStore(async () => {
        const [, score] = await redis.zrange(RUNNING_KEY, '0', '0', 'WITHSCORES');
        return score === undefined ? undefined : Number(score);
      }),
    async read(uid: string): Promise<Sweep | undefined> {
      const [stored, open] = await inStore(() =>
        Promise.all([redis.hgetall(sweepKey(uid)), redis.smembers(openKey(uid))]),
      );
      const { sweep, since = sweep, kind, rules = '', holders = '{}', decision } = stored;
      if (sweep === undefined) return undefined;
      const of = (prefix: string) =>
        open.flatMap((item) => (item.startsWith(prefix) ? [Number(item.slice(prefix.length))] : []));
      const [toAsk, toSettle] = [of('ask/'), of('settle/')];
      return {
        uid,
        sweep: Number(sweep),
        since: Number(since),
        kind: SweepKind.parse(kind),
        rules,
        holders: parseHolders(holders),
        decision: decision === undefined ? undefined : SweepDecision.parse(JSON.parse(decision)),
        toAsk,
        partCount: open.length - toAsk.length - toSettle.length,
        toSettle,
      };
    },
    addPart: async (uid: string, sweep: number, part: string): Promise<void> =>
      void (await changeOpen(keysOf(uid), [sweep, 'SADD', part])),
    /** A partition has asked (`ask/<p>`) or settled (`settle/<p>`), or a part was answered. */
    finish: async (uid: string, sweep: number, item: string): Promise<void> =>
      void (await changeOpen(keysOf(uid), [sweep, 'SREM', item])),
    /** Decides once; returns the first decision. */
    async decide(uid: string, sweep: number, decision: SweepDecision): Promise<SweepDecision | undefined> {
      const stood = await decide(keysOf(uid), [sweep, JSON.stringify(decision), uid]);
      return stood === null ? undefined : SweepDecision.parse(JSON.parse(stood));
    },
    /** Ends the sweep if it is the running one, and begins another one of its kind for the members
     * that it has not asked. */
    async beginRest(uid: string, sweep: number, next: Pick<Sweep, 'sweep' | 'holders'>): Promise<void> {
      await beginRest(keysOf(uid), [sweep, next.sweep, jsonOfHolders(next.holders)]);
    },
    /** Ends the sweep if it is the running one; without a sweep, takes the watch out of those that
     * are being swept. */
    async end(uid: string, sweep: number | undefined): Promise<void> {
      await end([...keysOf(uid), RUNNING_KEY], [sweep ?? '', uid]);
      // Held revocations are to be announced, and the next sweep may be waiting.
      await setDueTime(redis, uid, 0);
    },
    /** When the next sweep is due, epoch ms, and whether for a gap. */
    next: (uid: string): Promise<{ readonly atMs: number; readonly isForGap: boolean } | undefined> =>
      inStore(async () => {
        const [at, gapAt] = await Promise.all([redis.zscore(NEXT_KEY, uid), redis.hget(GAP_KEY, uid)]);
        return at === null ? undefined : { atMs: Number(at), isForGap: at === gapAt };
      }),
    /** Makes the next sweep due then, unless it is due earlier. */
    async bringForward(uid: string, atMs: number): Promise<void> {
      await addNext([NEXT_KEY], ['LT', atMs, uid]);
      await setDueTime(redis, uid, atMs);
    },
    /** Makes a sweep due because transfers were missed; an hour after the last one for that reason
     * at the earliest. */
    async setNextAfterGap(uid: string, nowMs: number): Promise<void> {
      const keys = [NEXT_KEY, GAP_KEY];
      const isSet = await setNextAfterGap(keys, [uid, nowMs, HOUR_MS]);
      if (isSet === 1) await setDueTime(redis, uid, nowMs);
    },
    forget: (uid: string): Promise<void> =>
      inStore(async () => {
        await Promise.all([
          redis.zrem(NEXT_KEY, uid),
          redis.hdel(GAP_KEY, uid),
          redis.unlink(sweepKey(uid), openKey(uid)),
          redis.zrem(RUNNING_KEY, uid),
        ]);
      }),
  };
}

export type WatchSweeps = ReturnType<typeof makeWatchSweeps>;
