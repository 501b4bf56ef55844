import {
  isNewMember,
  partitionOfMember,
  uidOfMember,
  type WatchMember,
} from '#shared/contracts/watches/watch.ts';
import { batchCalls } from '#shared/redis/batch-calls.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { inStore, LISTING_TIMEOUT_MS, type Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import { GENERATION_KEY, ORDINARY_ACCESS, type ViewAccess } from '#shared/redis/view.ts';
import { dueTimeOf } from '../watches.ts';
import { type DueMembers, dueKey, makeDueMembers } from './due-members.ts';
import { type MembersLock, makeMembersLock } from './members-lock.ts';
import { makeRemovedMembers, REMOVED_KEY, type RemovedMembers, TOMBSTONE_MS } from './removed-members.ts';
import { makeWalletIndex } from './wallet-index.ts';
import { effectsOf } from './watch-member-effects.ts';
import { docsKey, idsKey, makeMemberPages, placesOf, type ReadMemberPage } from './watch-member-pages.ts';
import {
  MARK_SENT,
  MAY_REVOKE,
  READ_NEWER,
  READ_WITHHELD,
  REFRESH,
  REVOKED_TOGETHER_MS,
  WRITE,
} from './watch-member-scripts.ts';
import { type MemberName, nameOf, parseStored, textOf, walletsOf } from './watch-member-text.ts';

/** A rebuild publishes the events of this long again: the dispatcher drops those that it has delivered. */
const UNSURE_EVENT_MS = 86_400_000;
/** Members whose newer versions are read at once. */
const CHUNK = 500;

const withheldKey = (uid: string, partition: number): string => `wm-withheld:${uid}:${partition}`;
const figuresKey = (uid: string): string => `wm-figures:${uid}`;
/** The findings of a watch's running sweep. */
export const sweepKey = (uid: string): string => `wm-sweep:${uid}`;
const revokedKey = (uid: string, roleId: string): string => `wm-revoked:${uid}/${roleId}`;
const outboxKey = (partition: number): string => `wm-outbox:${partition}`;
const APP_MEMBERS_KEY = 'wm-app-members';

/** Figures over all members of a watch. */
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

export type WatchMembers = DueMembers &
  RemovedMembers &
  MembersLock & {
    /** A few members in the order of their ids; see `readInPages`. */
    readonly readMany: (
      uid: string,
      memberIds: readonly string[],
      access?: ViewAccess,
    ) => Promise<(WatchMember | undefined)[]>;
    /** The view's version of a member if it is newer than this one. Cheap for many at once. */
    readonly readNewer: (member: WatchMember) => Promise<WatchMember | undefined>;
    /** Writes a member that was read as `before`; false if it has changed since. */
    readonly write: (
      before: WatchMember | undefined,
      after: WatchMember,
      nowMs: number,
      options?: WriteOptions,
    ) => Promise<boolean>;
    /** Puts a document in that was read from the topic; false if the view has the same or a newer version. */
    readonly project: (member: WatchMember, nowMs: number, access?: ViewAccess) => Promise<boolean>;
    /** Notes checks that changed nothing that is published. */
    readonly refresh: (uid: string, partition: number, members: readonly WatchMember[]) => Promise<void>;
    readonly page: ReadMemberPage;
    /**
     * Reads many members in the order of their ids, 500 at a time or about 1 MiB: a member of a watch with many roles is large.
     * Tombstones included; undefined for a member that does not exist.
     */
    readonly readInPages: (
      uid: string,
      memberIds: readonly string[],
    ) => AsyncIterable<readonly (WatchMember | undefined)[]>;
    /** Every member of a partition, in no order, 500 at a time or about 1 MiB. */
    readonly scan: (uid: string, partition: number) => AsyncIterable<WatchMember[]>;
    /** Members of whom something is withheld. */
    readonly withheld: (uid: string, partition: number) => Promise<string[]>;
    readonly figures: (uid: string) => Promise<WatchFigures>;
    /** Members of all the watches of an app. */
    readonly countOfApp: (clientId: string) => Promise<number>;
    /** Members of a partition whose event is to be published. */
    readonly outbox: (partition: number) => Promise<MemberName[]>;
    /** Takes a member out of the outbox; false if it has changed since. */
    readonly markSent: (member: WatchMember) => Promise<boolean>;
    /** Which members may lose a role now, if no sweep decides; revocations of the others must be held. */
    readonly mayRevoke: (
      uid: string,
      roleId: string,
      memberIds: readonly string[],
      bound: { nowMs: number; holders: number; held: number; share: number; atLeast: number },
    ) => Promise<ReadonlySet<string>>;
    /** How many revocations of a role were sent in the last hour; released ones do not count. */
    readonly countRevoked: (uid: string, roleId: string, nowMs: number, untilMs?: number) => Promise<number>;
    /** The members that a wallet, in lower case, belongs to, in pages; of each watch about so many at most. */
    readonly ofWallet: (account: string, ofWatchMax: number) => AsyncIterable<MemberName[]>;
    /** Deletes the remaining keys of a watch without members. */
    readonly forget: (uid: string) => Promise<void>;
  };

/** The view of the members. */
export function makeWatchMembers(redis: Redis): WatchMembers {
  const wallets = makeWalletIndex(redis);
  const pages = makeMemberPages(redis);
  const write = makeBatchedScript<number>(redis, WRITE);
  const refresh = makeScript<number>(redis, REFRESH);
  const markSent = makeBatchedScript<number>(redis, MARK_SENT);
  const readNewer = makeScript<string[]>(redis, READ_NEWER);
  const mayRevoke = makeScript<string[]>(redis, MAY_REVOKE);

  const readWithheld = makeScript<string[]>(redis, READ_WITHHELD, LISTING_TIMEOUT_MS);

  const readMany: WatchMembers['readMany'] = async (uid, memberIds, access) => {
    const found: (WatchMember | undefined)[] = [];
    for await (const page of pages.readInPages(uid, memberIds, access)) found.push(...page);
    return found;
  };

  const readNewerText = batchCalls(CHUNK, (members: readonly WatchMember[]) => {
    const { keys, places } = placesOf(
      members.map((member) => ({ uid: uidOfMember(member), memberId: member.memberId })),
    );
    const args = members.flatMap(({ memberId, version }, i) => [places[i] ?? 0, memberId, version]);
    return readNewer(keys, args);
  });

  const writeOne: WatchMembers['write'] = async (before, after, nowMs, options = {}) => {
    const { dueAtMs, isUnpublished = true, countsRevoked = true, access = ORDINARY_ACCESS } = options;
    const uid = uidOfMember(after);
    const { memberId, clientId } = after;
    const partition = partitionOfMember(uid, memberId);
    const watchDue = dueTimeOf(uid);
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
      watchDue.key,
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
      watchDue.member,
    ]);
    return reply === 1;
  };

  return {
    ...makeDueMembers(redis),
    ...makeRemovedMembers(redis),
    ...makeMembersLock(redis),
    readMany,
    async readNewer(member) {
      const text = await readNewerText(member);
      return text === '' ? undefined : parseStored(uidOfMember(member), member.memberId, text);
    },
    write: writeOne,
    async project(member, nowMs, access) {
      const uid = uidOfMember(member);
      for (;;) {
        const [before] = await readMany(uid, [member.memberId], access);
        if (before !== undefined && before.version >= member.version) return false;
        const { event, ...rest } = member;
        const isSure = event === undefined || Date.parse(event.at) < nowMs - UNSURE_EVENT_MS;
        const after = isSure ? rest : member;
        // An old tombstone of a member that the view does not have would only be dropped again.
        if (before === undefined && Date.parse(member.removedAt ?? '') < nowMs - TOMBSTONE_MS) return true;
        const dueAtMs = isNewMember(member) && member.removedAt === undefined ? nowMs : undefined;
        const options = { dueAtMs, isUnpublished: !isSure, ...(access === undefined ? {} : { access }) };
        if (await writeOne(before, after, nowMs, options)) return true;
      }
    },
    async refresh(uid, partition, members) {
      const args = members.flatMap((member) => [member.memberId, member.version, textOf(member)]);
      if (args.length > 0)
        await refresh(
          [GENERATION_KEY, docsKey(uid, partition), dueKey(partition)],
          [ORDINARY_ACCESS, uid, ...args],
        );
    },
    page: pages.read,
    readInPages: pages.readInPages,
    scan: pages.scan,
    withheld: (uid, partition) =>
      readWithheld([GENERATION_KEY, withheldKey(uid, partition)], [ORDINARY_ACCESS]),
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
    outbox: (partition) => inStore(async () => (await redis.smembers(outboxKey(partition))).map(nameOf)),
    async markSent(member) {
      const uid = uidOfMember(member);
      const partition = partitionOfMember(uid, member.memberId);
      const { event, ...sent } = member;
      const text = event === undefined ? '' : textOf(sent);
      const reply = await markSent(
        [GENERATION_KEY, docsKey(uid, partition), outboxKey(partition)],
        [ORDINARY_ACCESS, member.memberId, member.version, text, `${uid}/${member.memberId}`],
      );
      return reply === 1;
    },
    async mayRevoke(uid, roleId, memberIds, { nowMs, holders, held, share, atLeast }) {
      const args = [ORDINARY_ACCESS, nowMs, holders, held, share, atLeast, ...memberIds];
      return new Set(await mayRevoke([GENERATION_KEY, revokedKey(uid, roleId)], args));
    },
    countRevoked: (uid, roleId, nowMs, untilMs = Infinity) =>
      inStore(() =>
        redis.zcount(
          revokedKey(uid, roleId),
          `(${nowMs - REVOKED_TOGETHER_MS}`,
          untilMs === Infinity ? '+inf' : untilMs,
        ),
      ),
    ofWallet: wallets.membersOf,
    async forget(uid) {
      await inStore(() => redis.unlink(figuresKey(uid), sweepKey(uid)));
      await wallets.forget(uid);
    },
  };
}

const flag = (is: boolean): string => (is ? '1' : '0');
