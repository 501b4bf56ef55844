import {
  graceEndsOf,
  isHeld,
  isPending,
  isPresent,
  MEMBER_PARTITIONS,
  type MemberRole,
  partitionOfMember,
  SHARE_TOLERANCE,
  type WatchMember,
} from '#shared/contracts/watches/watch.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { inStore, LISTING_TIMEOUT_MS, type Redis } from '#shared/redis/connect.ts';
import { makeHolds } from '#shared/redis/holds.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { PAGE_BYTES_MAX } from '#shared/redis/view.ts';
import { type EraseRecord, makeReadPage } from '#shared/stores/documents/versioned-documents.ts';
import { digitsOf, makeWalletIndex, WALLETS_KEY } from './wallet-index.ts';
import {
  hasHeldBack,
  LUA_IS_REMOVED,
  type MemberName,
  nameOf,
  parseStored,
  textOf,
  textOfEvent,
  textOfName,
  walletsOf,
} from './watch-member-text.ts';

/** A replay publishes the events of this long again: the dispatcher drops those that it has
 * delivered. */
const UNSURE_EVENT_MS = 86_400_000;

/** Held by the one request that changes the members of an app's watches. */
const lockKey = (clientId: string): string => `lock:wm:${clientId}`;
const figuresKey = (uid: string): string => `wm-figures:${uid}`;
const revokedKey = (uid: string, roleId: string): string => `wm-revoked:${uid}/${roleId}`;
const outboxKey = (partition: number): string => `wm-outbox:${partition}`;
const outboxKeyOf = (name: MemberName): string => outboxKey(partitionOfName(name));

const partitionOfName = ({ watchUid, memberId }: MemberName): number => partitionOfMember(watchUid, memberId);

export type WatchFigures = {
  readonly members: number;
  /** By role id; members whose last verdict that was sent is `granted`. */
  readonly holders: ReadonlyMap<string, number>;
  /** By role id; members whose revocation is held. */
  readonly held: ReadonlyMap<string, number>;
  /** By sweep, the revocations that it holds back. */
  readonly sweeps: ReadonlyMap<number, SweepFigures>;
};

export type SweepFigures = {
  readonly hasPending: boolean;
  /** Whether some of them had it. */
  readonly hasLooked: boolean;
  /** By role id. */
  readonly revocations: ReadonlyMap<string, number>;
};

type WriteOptions = {
  /** When it is to be checked; absent: it is not due. */
  readonly dueAtMs?: number | undefined;
  /** Whether the topic may lack it still. Default true: until `markSent`, the owner of the
   * partition publishes it. */
  readonly isUnpublished?: boolean;
};

export function makeWatchMembers(redis: Redis) {
  const holds = makeHolds(redis);
  const wallets = makeWalletIndex(redis);
  const pages = makeMemberPages(redis);
  const write = makeBatchedScript<number>(redis, WRITE);
  const refresh = makeScript<number>(redis, REFRESH);
  const markSent = makeBatchedScript<number>(redis, MARK_SENT);
  const readNewer = makeBatchedScript<string>(redis, READ_NEWER);
  const mayRevoke = makeScript<string[]>(redis, MAY_REVOKE);

  const writeOne = async (
    before: WatchMember | undefined,
    after: WatchMember,
    { dueAtMs, isUnpublished = true }: WriteOptions = {},
  ): Promise<boolean> => {
    const { watchUid: uid } = after;
    const [outbox, due] = [outboxKeyOf(after), dueKeyOf(after)];
    const keys = [docsKeyOf(after), idsKey(uid), figuresKey(uid), due, outbox, WALLETS_KEY];
    const [digitsBefore = [], digitsAfter = []] = [before, after].map((one) => walletsOf(one).map(digitsOf));
    const changedDigits = [
      ...digitsAfter.filter((digits) => !digitsBefore.includes(digits)).map((digits) => `+${digits}`),
      ...digitsBefore.filter((digits) => !digitsAfter.includes(digits)).map((digits) => `-${digits}`),
    ];
    const reply = await write(keys, [
      textOfName(after),
      before === undefined ? '' : `${before.version}`,
      textOf(after),
      isPresent(after) ? '1' : '0',
      dueAtMs ?? '',
      JSON.stringify(figuresOfWrite(before, after)),
      changedDigits.join(' '),
      isUnpublished ? 'SADD' : 'SREM',
    ]);
    return reply === 1;
  };

  const noteTombstone = async ({ removedAt, ...member }: WatchMember): Promise<void> => {
    if (removedAt !== undefined)
      await inStore(() => redis.zadd(REMOVED_KEY, Date.parse(removedAt), textOfName(member)));
  };

  /** Notes that members lose a role at this time (epoch ms); before they are written. */
  const noteRevoked = (
    uid: string,
    roleId: string,
    memberIds: readonly string[],
    atMs: number,
  ): Promise<void> =>
    inStore(async () => {
      const key = revokedKey(uid, roleId);
      await redis.zadd(key, ...memberIds.flatMap((memberId) => [atMs, memberId]));
      await redis.pexpire(key, REVOKED_TOGETHER_MS);
    });

  return {
    ...makeDueMembers(redis),
    ...makeRemovedMembers(redis, pages.readMany),
    /** Holds the writes of an app's members for one writer; false if another one has them. */
    lock: (clientId: string, holder: string, forMs: number) => holds.take(lockKey(clientId), holder, forMs),
    /** Holds them for longer; false where they are held no more. */
    keepLock: (clientId: string, holder: string, forMs: number) =>
      holds.keep(lockKey(clientId), holder, forMs),
    unlock: (clientId: string, holder: string) => holds.release(lockKey(clientId), holder),
    /** A few members in the order of their ids; see `readInPages`. */
    readMany: pages.readMany,
    /** The view's version of a member if it is newer than this one. Cheap for many at once. */
    async readNewer(member: WatchMember): Promise<WatchMember | undefined> {
      const text = await readNewer([docsKeyOf(member)], [member.memberId, member.version]);
      return text === '' ? undefined : parseStored(member.watchUid, member.memberId, text);
    },
    /** Writes a member that was read as `before`; false if it has changed since. */
    write: writeOne,
    /** Puts a document in that was read from the topic; false if the view has the same or a newer
     * version. */
    async project(member: WatchMember, nowMs: number): Promise<boolean> {
      const { watchUid: uid, memberId, version, removedAt } = member;
      for (;;) {
        const [before] = await pages.readMany(uid, [memberId]);
        if (before !== undefined && before.version >= version) return false;
        // A version is the time of its write.
        const isSure = member.event === undefined || version < nowMs - UNSURE_EVENT_MS;
        const { event: _, ...sent } = member;
        // An old tombstone of a member that the view does not have would only be dropped again.
        if (before === undefined && Date.parse(removedAt ?? '') < nowMs - TOMBSTONE_MS) return true;
        const dueAtMs = isPresent(member) ? dueAfterRebuild(member, nowMs) : undefined;
        const options = { dueAtMs, isUnpublished: !isSure };
        for (const { id, granted, since } of member.sequence > 1 ? member.roles : [])
          if (!granted && Date.parse(since) > nowMs - REVOKED_TOGETHER_MS)
            await noteRevoked(uid, id, [memberId], Date.parse(since));
        if (!(await writeOne(before, isSure ? sent : member, options))) continue;
        await noteTombstone(member);
        return true;
      }
    },
    /** Notes checks of members of one partition that changed nothing that is published. */
    async refresh(members: readonly WatchMember[]): Promise<void> {
      const [first] = members;
      if (first === undefined) return;
      const args = members.flatMap((member) => [member.memberId, member.version, textOf(member)]);
      await refresh([docsKeyOf(first), dueKeyOf(first)], [first.watchUid, ...args]);
    },
    /** Reads the members of a watch in the order of their ids: `countMax`, or fewer where they are
     * large. `next` is the id of the last one, if there are more. */
    page: pages.read,
    /**
     * Reads many members in the order of their ids, 500 at a time or about 1 MiB: a member of a
     * watch with many roles is large. Tombstones included; undefined for a member that does not
     * exist.
     */
    readInPages: pages.readInPages,
    /** Every member of a partition, in no order, 500 at a time or about 1 MiB. */
    scan: pages.scan,
    /** As `scan`, those of whom a revocation is held back. */
    heldBack: (uid: string, partition: number) => pages.scan(uid, partition, hasHeldBack),
    async figures(uid: string): Promise<WatchFigures> {
      const [stored, count] = await inStore(() =>
        Promise.all([redis.hgetall(figuresKey(uid)), redis.zcard(idsKey(uid))]),
      );
      return figuresOf(stored, count);
    },
    /** The partitions that have members of a watch, or tombstones. */
    partitions: (uid: string): Promise<number[]> =>
      inStore(async () => {
        const all = Array.from({ length: MEMBER_PARTITIONS }, (_, partition) => partition);
        const found = await Promise.all(all.map((partition) => redis.exists(docsKey(uid, partition))));
        return all.filter((partition) => found[partition] === 1);
      }),
    count: (uids: readonly string[]): Promise<number> =>
      inStore(async () => {
        const counts = await Promise.all(uids.map((uid) => redis.zcard(idsKey(uid))));
        return counts.reduce((sum, each) => sum + each, 0);
      }),
    outbox: (partition: number): Promise<MemberName[]> =>
      inStore(async () => (await redis.smembers(outboxKey(partition))).map(nameOf)),
    /** Takes a member out of the outbox, and its event out of the member; false if it has changed
     * since. */
    async markSent(member: WatchMember): Promise<boolean> {
      const { memberId, version, event } = member;
      const text = event === undefined ? '' : textOfEvent(event);
      // First: a tombstone that is in no outbox is to be found here.
      await noteTombstone(member);
      const keys = [docsKeyOf(member), outboxKeyOf(member)];
      return (await markSent(keys, [memberId, version, text, textOfName(member)])) === 1;
    },
    /** Which members may lose a role now, if no sweep decides; revocations of the others must be
     * held. */
    async mayRevoke(
      uid: string,
      roleId: string,
      memberIds: readonly string[],
      by: { nowMs: number; holders: number; held: number; share: number; atLeast: number },
    ): Promise<ReadonlySet<string>> {
      const bounds = [by.nowMs, by.holders, by.held, by.share, by.atLeast];
      return new Set(await mayRevoke([revokedKey(uid, roleId)], [...bounds, ...memberIds]));
    },
    noteRevoked,
    /** How many revocations of a role were sent in the last hour; released ones do not count. */
    countRevoked: (uid: string, roleId: string, nowMs: number, untilMs?: number): Promise<number> =>
      inStore(() =>
        redis.zcount(revokedKey(uid, roleId), `(${nowMs - REVOKED_TOGETHER_MS}`, untilMs ?? '+inf'),
      ),
    /** The members that a wallet, in lower case, belongs to, in pages; of each watch about so many
     * at most. */
    ofWallet: wallets.membersOf,
    /** Deletes the remaining keys of a watch without members. */
    forget: (uid: string): Promise<void> => inStore(async () => void (await redis.unlink(figuresKey(uid)))),
  };
}

/** As its owner would make it due (`dueAtOf`): at once, if it owes a check. */
function dueAfterRebuild(member: WatchMember, nowMs: number): number | undefined {
  if (member.checked === undefined || member.owed !== undefined) return nowMs;
  const graceEnds = graceEndsOf(member);
  return graceEnds.length > 0 ? Math.min(...graceEnds) : undefined;
}

export type WatchMembers = ReturnType<typeof makeWatchMembers>;

function figuresOf(stored: Readonly<Record<string, string>>, members: number): WatchFigures {
  const [holders, held] = [new Map<string, number>(), new Map<string, number>()];
  type OfSweep = { hasPending: boolean; hasLooked: boolean; revocations: Map<string, number> };
  const sweeps = new Map<number, OfSweep>();
  for (const [name, text] of Object.entries(stored)) {
    const [kind = '', ...rest] = name.split('/');
    if (kind === 'holders') holders.set(rest.join('/'), Number(text));
    if (kind === 'held') held.set(rest.join('/'), Number(text));
    if (!SWEEP_KINDS.includes(kind)) continue;
    const [sweep, ...role] = rest;
    const ofSweep = sweeps.get(Number(sweep)) ?? {
      ...{ hasPending: false, hasLooked: false },
      revocations: new Map<string, number>(),
    };
    sweeps.set(Number(sweep), ofSweep);
    ofSweep.hasPending ||= kind === 'pending';
    ofSweep.hasLooked ||= kind === 'looked';
    const roleId = role.join('/');
    ofSweep.revocations.set(roleId, (ofSweep.revocations.get(roleId) ?? 0) + Number(text));
  }
  return { members, holders, held, sweeps };
}

/** Revocations of this long count together. */
const REVOKED_TOGETHER_MS = 3_600_000;

/**
 * Writes one member, if it is still at the version that the writer read; with it all that follows
 * from it, so that nothing is counted twice.
 *
 * KEYS: members of the partition, ids, figures, due, outbox, wallets. ARGV: name (uid and
 * member id), version before ('' for none), stored, 1 if it is not removed, due time ('' for none),
 * changes of the figures (JSON), digits of wallets to add (`+…`) and to remove (`-…`), `SADD` or
 * `SREM` for the outbox.
 */
const WRITE = `${REQUIRE_VIEW}
local name, id = ARGV[1], string.match(ARGV[1], '^[^/]*/[^/]*/[^/]*/(.*)$')
local stored = redis.call('HGET', KEYS[1], id)
if (stored and string.match(stored, '^(%d+) ') or '') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], id, ARGV[3])
if ARGV[4] == '1' then redis.call('ZADD', KEYS[2], 0, id) else redis.call('ZREM', KEYS[2], id) end
for figure, change in pairs(cjson.decode(ARGV[6])) do
  if redis.call('HINCRBY', KEYS[3], figure, change) == 0 then redis.call('HDEL', KEYS[3], figure) end
end
if ARGV[5] == '' then redis.call('ZREM', KEYS[4], name) else redis.call('ZADD', KEYS[4], ARGV[5], name) end
redis.call(ARGV[8], KEYS[5], name)
for wallet in string.gmatch(ARGV[7], '%+(%S+)') do redis.call('ZADD', KEYS[6], 0, wallet .. '/' .. name) end
for wallet in string.gmatch(ARGV[7], '%-(%S+)') do redis.call('ZREM', KEYS[6], wallet .. '/' .. name) end
return 1
`;

/**
 * KEYS: members of the partition, due. ARGV: uid, then member id, version and text
 * for each. A member that has changed since stays as it is, and due: its new wallets were not
 * checked.
 */
const REFRESH = `${REQUIRE_VIEW}
local ids, names, fields = {}, {}, {}
for i = 2, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
for i, stored in ipairs(redis.call('HMGET', KEYS[1], unpack(ids))) do
  if stored and string.match(stored, '^(%d+) ') == ARGV[3 * i] then
    fields[#fields + 1] = ids[i]
    fields[#fields + 1] = ARGV[3 * i + 1]
    names[#names + 1] = ARGV[1] .. '/' .. ids[i]
  end
end
if #fields == 0 then return 0 end
redis.call('HSET', KEYS[1], unpack(fields))
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('ZREM', KEYS[2], unpack(names)) end
return 1
`;

/** KEYS: members of the partition. ARGV: member id, version. Answers the stored member if it is
 * newer, else '': many large members at once would not be read in time. */
const READ_NEWER = `
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local version = stored and tonumber(string.match(stored, '^(%d+) '))
return version and version > tonumber(ARGV[2]) and stored or ''
`;

/**
 * KEYS: members of the partition, outbox. ARGV: member id, version, text of the event ('' if there was
 * none), name. Returns 0 if the member has changed since. The event alone is taken out of the stored
 * text: a check may have refreshed the member since, which leaves its version.
 */
const MARK_SENT = `${REQUIRE_VIEW}
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if not stored or string.match(stored, '^(%d+) ') ~= ARGV[2] then return 0 end
local first, last = string.find(stored, ARGV[3], 1, true)
if ARGV[3] ~= '' and first then
  if string.sub(stored, first - 1, first - 1) == ',' then first = first - 1 end
  redis.call('HSET', KEYS[1], ARGV[1], string.sub(stored, 1, first - 1) .. string.sub(stored, last + 1))
end
redis.call('SREM', KEYS[2], ARGV[4])
return 1
`;

/**
 * Returns the members that may lose the role now. KEYS: revocations of the role. ARGV:
 * now, holders, held revocations, share, least count, then member ids. An allowed member
 * stays allowed for the hour.
 */
const MAY_REVOKE = `${REQUIRE_VIEW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1] - ${REVOKED_TOGETHER_MS})
local count = redis.call('ZCARD', KEYS[1])
local holders = tonumber(ARGV[2]) + count
local allowed = {}
for i = 6, #ARGV do
  if redis.call('ZSCORE', KEYS[1], ARGV[i]) then allowed[#allowed + 1] = ARGV[i]
  else
    local total = count + tonumber(ARGV[3]) + 1
    if not (total >= tonumber(ARGV[5]) and total > tonumber(ARGV[4]) * holders + ${SHARE_TOLERANCE}) then
      redis.call('ZADD', KEYS[1], ARGV[1], ARGV[i])
      count = count + 1
      allowed[#allowed + 1] = ARGV[i]
    end
  end
end
redis.call('PEXPIRE', KEYS[1], ${REVOKED_TOGETHER_MS})
return allowed
`;

/** Figures of the revocations that a sweep holds back: `<kind>/<sweep>/<role>`. */
const SWEEP_KINDS = ['pending', 'looked', 'waiting'];

function heldBackFigure({ id, heldBack: back }: MemberRole): string | undefined {
  if (back === undefined) return undefined;
  if (isHeld(back)) return `held/${id}`;
  if (back.sweep === undefined) return undefined;
  const kind = isPending(back) ? 'pending' : back.looked ? 'looked' : 'waiting';
  return `${kind}/${back.sweep}/${id}`;
}

export function figuresOfWrite(before: WatchMember | undefined, after: WatchMember): Record<string, number> {
  const figures: Record<string, number> = {};
  const add = (name: string, change: number) => {
    figures[name] = (figures[name] ?? 0) + change;
    if (figures[name] === 0) delete figures[name];
  };
  for (const [member, change] of [
    [before, -1],
    [after, 1],
  ] as const)
    for (const role of isPresent(member) ? member.roles : []) {
      if (role.granted) add(`holders/${role.id}`, change);
      const figure = heldBackFigure(role);
      if (figure !== undefined) add(figure, change);
    }
  return figures;
}

/** Members of one page. A member with a hundred roles has up to 50 KB, one with 900 up to 1 MB. */
const PAGE_MEMBERS_MAX = 500;
/** Members of the first page of a scan, before their size is known. */
const SCAN_COUNT_FIRST = 32;

const docsKey = (uid: string, partition: number): string => `wm:${uid}:${partition}`;
const docsKeyOf = (name: MemberName): string => docsKey(name.watchUid, partitionOfName(name));

/** The ids of a watch's members, all with one score, so that Redis sorts them. */
const idsKey = (uid: string): string => `wm-ids:${uid}`;

type MemberPage = {
  /** The `next` of the page before. */
  readonly after?: string | undefined;
  readonly countMax: number;
};

function makeMemberPages(redis: Redis) {
  const readTexts = makeReadPage(redis);
  /** The first of these members, as many as a page has; undefined for a missing member. */
  const readFirst = async (uid: string, ids: readonly string[]): Promise<(WatchMember | undefined)[]> => {
    const texts = await readTexts(ids.map((memberId) => [docsKeyOf({ watchUid: uid, memberId }), memberId]));
    return texts.map((text, i) => (text === '' ? undefined : parseStored(uid, ids[i] ?? '', text)));
  };
  const read = async (uid: string, { after, countMax }: MemberPage) => {
    const from = after === undefined ? '-' : `(${after}`;
    const ids = await inStore(() => redis.zrangebylex(idsKey(uid), from, '+', 'LIMIT', 0, countMax + 1));
    const found = await readFirst(uid, ids.slice(0, countMax));
    const members = found.flatMap((member) => member ?? []);
    return { members, next: found.length < ids.length ? ids[found.length - 1] : undefined };
  };
  async function* readInPages(
    uid: string,
    ids: readonly string[],
  ): AsyncGenerator<readonly (WatchMember | undefined)[]> {
    for (let at = 0; at < ids.length; ) {
      const found = await readFirst(uid, ids.slice(at, at + PAGE_MEMBERS_MAX));
      yield found;
      at += found.length;
    }
  }
  const readMany = async (uid: string, ids: readonly string[]): Promise<(WatchMember | undefined)[]> =>
    (await Array.fromAsync(readInPages(uid, ids))).flat();
  /** @param isWanted whether the member of a stored text is */
  async function* scan(
    uid: string,
    partition: number,
    isWanted: (text: string) => boolean = () => true,
  ): AsyncGenerator<WatchMember[]> {
    let [cursor, count] = ['0', SCAN_COUNT_FIRST];
    let members: WatchMember[] = [];
    let bytes = 0;
    do {
      const [next, flat] = await inStore(
        () => redis.hscan(docsKey(uid, partition), cursor, 'COUNT', count),
        LISTING_TIMEOUT_MS,
      );
      cursor = next;
      let pageBytes = 0;
      for (let i = 0; i < flat.length; i += 2) {
        const [memberId = '', text = ''] = [flat[i], flat[i + 1]];
        pageBytes += text.length;
        if (isWanted(text)) members.push(parseStored(uid, memberId, text));
      }
      members = members.filter(isPresent);
      bytes += pageBytes;
      // Parts of a few members would cost as much as whole ones.
      while (members.length >= PAGE_MEMBERS_MAX || bytes >= PAGE_BYTES_MAX) {
        yield members.splice(0, PAGE_MEMBERS_MAX);
        bytes = 0;
      }
      count = nextScanCount(count, flat.length / 2, pageBytes);
    } while (cursor !== '0');
    yield members;
  }
  return { read, readInPages, readMany, scan };
}

/** As many as a page of this size would have, and at most four times as many as before: Redis
 * bounds a page by count alone. */
function nextScanCount(count: number, found: number, bytes: number): number {
  const fitting = bytes === 0 ? Infinity : Math.floor((PAGE_BYTES_MAX * found) / bytes);
  return Math.max(1, Math.min(4 * count, fitting, PAGE_MEMBERS_MAX));
}

/** The members of a partition that are due, by when. */
const dueKey = (partition: number): string => `wm-due:${partition}`;
const dueKeyOf = (name: MemberName): string => dueKey(partitionOfName(name));

/** KEYS: due members. ARGV: due time, names. */
const DROP_DUE = `${REQUIRE_VIEW}
for i = 2, #ARGV do
  if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or '') == tonumber(ARGV[1]) then redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return 1
`;

/** The members that are to be checked by themselves, outside of sweeps. */
function makeDueMembers(redis: Redis) {
  const dropDue = makeScript<number>(redis, DROP_DUE);
  /** One command for each partition. */
  const setTimes = (condition: 'LT' | 'XX', names: readonly MemberName[], atMs: number): Promise<void> =>
    inStore(async () => {
      const byKey = Map.groupBy(names, dueKeyOf);
      await Promise.all(
        [...byKey].map(([key, ofKey]) =>
          redis.call('ZADD', key, condition, ...ofKey.flatMap((name) => [atMs, textOfName(name)])),
        ),
      );
    });
  return {
    /** Members that are due, the earliest first. They stay due until they were checked. */
    due: (partition: number, nowMs: number, countMax: number): Promise<MemberName[]> =>
      inStore(async () =>
        (await redis.zrangebyscore(dueKey(partition), '-inf', nowMs, 'LIMIT', 0, countMax)).map(nameOf),
      ),
    oldestDueAt: (partition: number): Promise<number | undefined> =>
      inStore(async () => {
        const [, score] = await redis.zrange(dueKey(partition), '0', '0', 'WITHSCORES');
        return score === undefined ? undefined : Number(score);
      }),
    /** Whether a member waits for a check by itself. */
    isDue: (name: MemberName): Promise<boolean> =>
      inStore(async () => (await redis.zscore(dueKeyOf(name), textOfName(name))) !== null),
    /** Takes members of a partition out of those that are due, if their due time is still this
     * one. */
    async dropDue(partition: number, names: readonly MemberName[], atMs: number): Promise<void> {
      await dropDue([dueKey(partition)], [atMs, ...names.map(textOfName)]);
    },
    /** Makes members due then, unless they are due earlier. */
    setDue: (names: readonly MemberName[], atMs: number): Promise<void> => setTimes('LT', names, atMs),
    /** Defers the due time: the check was requested, and is requested again at the new time if no
     * answer came. */
    postpone: (names: readonly MemberName[], atMs: number): Promise<void> => setTimes('XX', names, atMs),
  };
}

/** The tombstones of removed members, by when each was written. */
const REMOVED_KEY = 'wm-removed';
/** How long a tombstone is kept: longer than a record may be on its way. */
const TOMBSTONE_MS = 3_600_000;

/**
 * KEYS: members of the partition, tombstones. ARGV: member id, name, time up to
 * which tombstones are dropped. A member that was added again meanwhile stays.
 */
const DROP_REMOVED = `${REQUIRE_VIEW}
local removedAt = redis.call('ZSCORE', KEYS[2], ARGV[2])
if not removedAt or tonumber(removedAt) > tonumber(ARGV[3]) then return 0 end
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if stored and ${LUA_IS_REMOVED} then redis.call('HDEL', KEYS[1], ARGV[1]) end
redis.call('ZREM', KEYS[2], ARGV[2])
return 1
`;

function makeRemovedMembers(redis: Redis, readMany: ReturnType<typeof makeMemberPages>['readMany']) {
  const drop = makeBatchedScript<number>(redis, DROP_REMOVED);
  return {
    /** Erases tombstones whose time has come, from view and topic; how many were looked at. */
    async eraseRemoved(nowMs: number, countMax: number, eraseRecord: EraseRecord): Promise<number> {
      const untilMs = nowMs - TOMBSTONE_MS;
      const names = await inStore(() =>
        redis.zrangebyscore(REMOVED_KEY, '-inf', untilMs, 'LIMIT', 0, countMax),
      );
      await Promise.all(
        names.map(async (name) => {
          const parsed = nameOf(name);
          const [member] = await readMany(parsed.watchUid, [parsed.memberId]);
          // One that is added again from now on is published again, behind this record.
          if (!isPresent(member)) await eraseRecord(name);
          return drop([docsKeyOf(parsed), REMOVED_KEY], [parsed.memberId, name, untilMs]);
        }),
      );
      return names.length;
    },
  };
}
