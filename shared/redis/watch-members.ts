import { partitionOfMember, uidOfMember, type WatchMember, watchOfUid } from '#shared/contracts/watch.ts';
import { makeBatchedScript } from './batched-script.ts';
import { inStore, LISTING_TIMEOUT_MS, type Redis } from './connect.ts';
import { membersOfWalletKey } from './followed-contracts.ts';
import { makeScript } from './script.ts';
import { EVERYDAY, GENERATION_KEY, type ViewAccess } from './view.ts';
import { effectsOf } from './watch-member-effects.ts';
import { MARK_SENT, MAY_REVOKE, REFRESH, UNLOCK, WRITE } from './watch-member-scripts.ts';

/** How long a tombstone is kept: longer than a record may be on its way. */
const TOMBSTONE_MS = 3_600_000;
/** A rebuild publishes the events of this long again: the dispatcher drops those that it has delivered. */
const UNSURE_EVENT_MS = 86_400_000;
/** Members read or written at once. */
const CHUNK = 500;

const docsKey = (uid: string, partition: number): string => `wm:${uid}:${partition}`;
const idsKey = (uid: string): string => `wm-ids:${uid}`;
const withheldKey = (uid: string, partition: number): string => `wm-withheld:${uid}:${partition}`;
const figuresKey = (uid: string): string => `wm-figures:${uid}`;
/** What the running sweep of a watch has found. */
export const sweepKey = (uid: string): string => `wm-sweep:${uid}`;
const revokedKey = (uid: string, roleId: string): string => `wm-revoked:${uid}/${roleId}`;
const dueKey = (partition: number): string => `wm-due:${partition}`;
const outboxKey = (partition: number): string => `wm-outbox:${partition}`;
const APP_MEMBERS_KEY = 'wm-app-members';
const REMOVED_KEY = 'wm-removed';

/** What is known of the members of a watch as a whole. */
export type WatchFigures = {
  readonly members: number;
  /** By role id; members whose last verdict that was sent is `granted`. */
  readonly holders: ReadonlyMap<string, number>;
  /** By role id; members whose revocation is held. */
  readonly held: ReadonlyMap<string, number>;
};

export type WriteOptions = {
  /** When it is to be checked; absent: it is not due. */
  readonly dueAtMs?: number | undefined;
  /** Whether the topic may lack it still. Default true: until `markSent`, the owner of the partition publishes it. */
  readonly isUnpublished?: boolean;
  /** Whether its revocations count among those of the last hour. Default true. */
  readonly countsRevoked?: boolean;
  readonly access?: ViewAccess;
};

export type MemberName = { readonly uid: string; readonly memberId: string };

export type WatchMembers = {
  /** Tombstones included. In the order of the ids. */
  readonly readMany: (uid: string, memberIds: readonly string[]) => Promise<(WatchMember | undefined)[]>;
  /** Writes a member that was read as `before`; false where it has changed since. */
  readonly write: (
    before: WatchMember | undefined,
    after: WatchMember,
    nowMs: number,
    options?: WriteOptions,
  ) => Promise<boolean>;
  /** Puts a document in that was read from the topic; false where the view has the same or a newer version. */
  readonly project: (member: WatchMember, nowMs: number, access?: ViewAccess) => Promise<boolean>;
  /** Notes checks that changed nothing that is published. */
  readonly refresh: (uid: string, partition: number, members: readonly WatchMember[]) => Promise<void>;
  readonly list: (uid: string, page: { after?: string; countMax: number }) => Promise<WatchMember[]>;
  /** Every member of a partition, in no order, a few hundred at a time. */
  readonly scan: (uid: string, partition: number) => AsyncIterable<WatchMember[]>;
  /** Members of whom something is withheld. */
  readonly withheld: (uid: string, partition: number) => Promise<string[]>;
  readonly figures: (uid: string) => Promise<WatchFigures>;
  /** Members of all the watches of an app. */
  readonly countOfApp: (clientId: string) => Promise<number>;
  /** Members that are due, the earliest first. They stay due until they were checked. */
  readonly due: (partition: number, nowMs: number, countMax: number) => Promise<MemberName[]>;
  /** When the first member of a partition was due. */
  readonly oldestDueAt: (partition: number) => Promise<number | undefined>;
  /** Makes members due then, unless they are due earlier. */
  readonly setDue: (names: readonly MemberName[], atMs: number) => Promise<void>;
  /** Puts the due time off: the check was asked for, and is asked for again then if no answer came. */
  readonly putOff: (names: readonly MemberName[], atMs: number) => Promise<void>;
  /** Members of a partition whose event is to be published. */
  readonly outbox: (partition: number) => Promise<MemberName[]>;
  readonly markSent: (member: WatchMember) => Promise<void>;
  /** Which members may be revoked a role now, where no sweep decides; the others are to be held. */
  readonly mayRevoke: (
    uid: string,
    roleId: string,
    memberIds: readonly string[],
    bound: { nowMs: number; holders: number; share: number; atLeast: number },
  ) => Promise<ReadonlySet<string>>;
  /** The members that a wallet, in lower case, belongs to. */
  readonly ofWallet: (account: string) => Promise<MemberName[]>;
  /** Takes tombstones out of the view whose time has come; how many they were. */
  readonly dropRemoved: (nowMs: number, countMax: number) => Promise<number>;
  /** Deletes what is left of a watch without members. */
  readonly forget: (uid: string) => Promise<void>;
  /** Holds the writes of an app's members for one writer; nothing where another one has them. */
  readonly lock: (clientId: string, holder: string, forMs: number) => Promise<boolean>;
  readonly unlock: (clientId: string, holder: string) => Promise<void>;
};

/** The view of the members. */
export function makeWatchMembers(redis: Redis): WatchMembers {
  const write = makeBatchedScript<number>(redis, 'writeWatchMembers', WRITE);
  const refresh = makeScript<number>(redis, 'refreshWatchMembers', REFRESH);
  const markSent = makeBatchedScript<number>(redis, 'markWatchEventsSent', MARK_SENT);
  const mayRevoke = makeScript<string[]>(redis, 'mayRevoke', MAY_REVOKE);
  const unlock = makeScript<number>(redis, 'unlockWatchMembers', UNLOCK);

  const readMany: WatchMembers['readMany'] = (uid, memberIds) =>
    inStore(async () => {
      const stored = await Promise.all(
        memberIds.map((id) => redis.hget(docsKey(uid, partitionOfMember(uid, id)), id)),
      );
      return stored.map((text, i) =>
        text === null ? undefined : parseStored(uid, memberIds[i] ?? '', text),
      );
    }, LISTING_TIMEOUT_MS);

  const writeOne: WatchMembers['write'] = async (before, after, nowMs, options = {}) => {
    const { dueAtMs, isUnpublished = true, countsRevoked = true, access = EVERYDAY } = options;
    const uid = uidOfMember(after);
    const { memberId, clientId } = after;
    const partition = partitionOfMember(uid, memberId);
    const keys = [
      GENERATION_KEY,
      docsKey(uid, partition),
      idsKey(uid),
      withheldKey(uid, partition),
      figuresKey(uid),
      sweepKey(uid),
      dueKey(partition),
      outboxKey(partition),
      APP_MEMBERS_KEY,
      REMOVED_KEY,
    ];
    const { figures, sweep, tally, revoked } = effectsOf(before, after);
    const [walletsBefore, walletsAfter] = [walletsOf(before), walletsOf(after)];
    const reply = await write(keys, [
      access,
      memberId,
      before === undefined ? '' : `${before.version}`,
      textOf(after),
      `${uid}/${memberId}`,
      clientId,
      flag(after.removedAt === undefined),
      flag(after.roles.some(({ withheld }) => withheld !== undefined)),
      flag(isUnpublished),
      dueAtMs ?? '',
      JSON.stringify(figures),
      sweep ?? '',
      JSON.stringify(tally),
      JSON.stringify(
        countsRevoked ? Object.fromEntries(revoked.map(([roleId, at]) => [revokedKey(uid, roleId), at])) : {},
      ),
      walletsAfter.filter((wallet) => !walletsBefore.includes(wallet)).join(' '),
      walletsBefore.filter((wallet) => !walletsAfter.includes(wallet)).join(' '),
      nowMs,
    ]);
    return reply === 1;
  };

  return {
    readMany,
    write: writeOne,
    async project(member, nowMs, access) {
      const uid = uidOfMember(member);
      for (;;) {
        const [before] = await readMany(uid, [member.memberId]);
        if (before !== undefined && before.version >= member.version) return false;
        const { event, ...rest } = member;
        const isSure = event === undefined || Date.parse(event.at) < nowMs - UNSURE_EVENT_MS;
        const after = isSure ? rest : member;
        const dueAtMs = member.checkedAt === undefined && member.removedAt === undefined ? nowMs : undefined;
        const options = { dueAtMs, isUnpublished: !isSure, ...(access === undefined ? {} : { access }) };
        if (await writeOne(before, after, nowMs, options)) return true;
      }
    },
    async refresh(uid, partition, members) {
      const args = members.flatMap((member) => [member.memberId, member.version, textOf(member)]);
      if (args.length > 0)
        await refresh([GENERATION_KEY, docsKey(uid, partition), dueKey(partition)], [EVERYDAY, uid, ...args]);
    },
    async list(uid, { after, countMax }) {
      const from = after === undefined ? '-' : `(${after}`;
      const ids = await inStore(() => redis.zrangebylex(idsKey(uid), from, '+', 'LIMIT', 0, countMax));
      return (await readMany(uid, ids)).flatMap((member) => member ?? []);
    },
    async *scan(uid, partition) {
      let cursor = '0';
      do {
        const [next, flat] = await inStore(
          () => redis.hscan(docsKey(uid, partition), cursor, 'COUNT', CHUNK),
          LISTING_TIMEOUT_MS,
        );
        cursor = next;
        const members: WatchMember[] = [];
        for (let i = 0; i < flat.length; i += 2)
          members.push(parseStored(uid, flat[i] ?? '', flat[i + 1] ?? ''));
        yield members.filter(({ removedAt }) => removedAt === undefined);
      } while (cursor !== '0');
    },
    withheld: (uid, partition) =>
      inStore(() => redis.smembers(withheldKey(uid, partition)), LISTING_TIMEOUT_MS),
    async figures(uid) {
      const stored = Object.entries(await inStore(() => redis.hgetall(figuresKey(uid))));
      const of = (prefix: string) =>
        new Map(
          stored.flatMap(([name, value]) =>
            name.startsWith(prefix) ? [[name.slice(prefix.length), Number(value)] as const] : [],
          ),
        );
      const members = stored.find(([name]) => name === 'members')?.[1];
      return { members: Number(members ?? 0), holders: of('holders/'), held: of('held/') };
    },
    countOfApp: (clientId) => inStore(async () => Number((await redis.hget(APP_MEMBERS_KEY, clientId)) ?? 0)),
    due: (partition, nowMs, countMax) =>
      inStore(async () =>
        (await redis.zrangebyscore(dueKey(partition), '-inf', nowMs, 'LIMIT', 0, countMax)).map(nameOf),
      ),
    oldestDueAt: (partition) =>
      inStore(async () => {
        const [, score] = await redis.zrange(dueKey(partition), '0', '0', 'WITHSCORES');
        return score === undefined ? undefined : Number(score);
      }),
    setDue: (names, atMs) =>
      inStore(async () => {
        await Promise.all(
          names.map((name) => redis.zadd(dueKeyOf(name), 'LT', String(atMs), textOfName(name))),
        );
      }),
    putOff: (names, atMs) =>
      inStore(async () => {
        await Promise.all(names.map((name) => redis.zadd(dueKeyOf(name), 'XX', atMs, textOfName(name))));
      }),
    outbox: (partition) => inStore(async () => (await redis.smembers(outboxKey(partition))).map(nameOf)),
    async markSent(member) {
      const uid = uidOfMember(member);
      const partition = partitionOfMember(uid, member.memberId);
      const { event: _, ...sent } = member;
      await markSent(
        [GENERATION_KEY, docsKey(uid, partition), outboxKey(partition)],
        [EVERYDAY, member.memberId, member.version, textOf(sent), `${uid}/${member.memberId}`],
      );
    },
    async mayRevoke(uid, roleId, memberIds, { nowMs, holders, share, atLeast }) {
      const args = [EVERYDAY, nowMs, holders, share, atLeast, ...memberIds];
      return new Set(await mayRevoke([GENERATION_KEY, revokedKey(uid, roleId)], args));
    },
    ofWallet: (account) =>
      inStore(async () => (await redis.smembers(membersOfWalletKey(account))).map(nameOf)),
    async dropRemoved(nowMs, countMax) {
      const names = await inStore(() =>
        redis.zrangebyscore(REMOVED_KEY, '-inf', nowMs - TOMBSTONE_MS, 'LIMIT', 0, countMax),
      );
      for (const text of names) {
        const { uid, memberId } = nameOf(text);
        await inStore(() => redis.hdel(docsKey(uid, partitionOfMember(uid, memberId)), memberId));
        await inStore(() => redis.zrem(REMOVED_KEY, text));
      }
      return names.length;
    },
    forget: (uid) => inStore(async () => void (await redis.unlink(figuresKey(uid), sweepKey(uid)))),
    lock: (clientId, holder, forMs) =>
      inStore(async () => (await redis.set(`lock:wm:${clientId}`, holder, 'PX', forMs, 'NX')) === 'OK'),
    unlock: async (clientId, holder) => void (await unlock([`lock:wm:${clientId}`], [holder])),
  };
}

const flag = (is: boolean): string => (is ? '1' : '0');

const textOfName = ({ uid, memberId }: MemberName): string => `${uid}/${memberId}`;
const dueKeyOf = ({ uid, memberId }: MemberName): string => dueKey(partitionOfMember(uid, memberId));

/** A uid has two slashes, and the member id begins behind the third. */
function nameOf(text: string): MemberName {
  const [clientId, watchId, createdAt, ...rest] = text.split('/');
  return { uid: `${clientId}/${watchId}/${createdAt}`, memberId: rest.join('/') };
}

/** Stored without what its place says already. */
function textOf(member: WatchMember): string {
  const { clientId: _, watchId: __, watchCreatedAt: ___, memberId: ____, version, ...stored } = member;
  return `${version} ${JSON.stringify(stored)}`;
}

function parseStored(uid: string, memberId: string, text: string): WatchMember {
  const space = text.indexOf(' ');
  const watchCreatedAt = new Date(Number(uid.slice(uid.lastIndexOf('/') + 1))).toISOString();
  const version = Number(text.slice(0, space));
  // Written by this file alone, from a message that was parsed.
  return { ...watchOfUid(uid), watchCreatedAt, memberId, version, ...JSON.parse(text.slice(space + 1)) };
}

const walletsOf = (member: WatchMember | undefined): string[] =>
  member === undefined || member.removedAt !== undefined
    ? []
    : [...(member.accounts ?? [member.account]), ...(member.vaults ?? [])].map((wallet) =>
        wallet.toLowerCase(),
      );
