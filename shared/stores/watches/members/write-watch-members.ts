import { randomUUID } from 'node:crypto';
import type { StorageLimits } from '#shared/contracts/apps/tiers.ts';
import type { BatchEntry } from '#shared/contracts/batches/batch.ts';
import {
  isPresent,
  removedMember,
  type Watch,
  type WatchMember,
  watchMember,
  watchUid,
  withoutHeldBack,
} from '#shared/contracts/watches/watch.ts';
import { isRetriable, ServiceError } from '#shared/errors.ts';
import type { AccountBytes } from '#shared/fairness/account-bytes.ts';
import type { Throttle } from '#shared/fairness/throttle.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { type AuditTrail, auditMissing, makeRecordAudit } from '#shared/stores/audit/audit-trail.ts';
import { acquireWithin, writeOfDay } from '#shared/stores/documents/write-document.ts';
import { retry } from '#shared/wait-for.ts';
import type { Watches } from '../watches.ts';
import type { WatchMembers } from './watch-members.ts';

/** Renewed with every chunk of writes, and longer than one of them takes. */
const LOCK_MS = 30_000;
const LOCK_WAIT = { msMax: 3_000, retryMs: 50 } as const;
/** Members written by one command to Redis; a bound, so that other commands do not wait long. */
const WRITE_CHUNK = 128;
const TRIES_MAX = 20;
/** A chunk that Redis or the broker does not answer is written again for this long. */
const CHUNK_MS_MAX = 10_000;
const CHUNK_RETRY_MS = 200;
const PUBLISH_TIMEOUT_MS = 8_000;

type Dependencies = {
  readonly watches: Pick<Watches, 'readByUid' | 'pagesOf'>;
  readonly members: WatchMembers;
  readonly throttle: Pick<Throttle, 'take'>;
  readonly requireRoom: AccountBytes['requireRoom'];
  readonly auditTrail: Pick<AuditTrail, 'record'>;
  readonly publish: KafkaConnection['publish'];
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

export type MemberChanges = {
  readonly add: readonly BatchEntry[];
  /** Refs or accounts. */
  readonly remove: readonly string[];
};

type MembersWrite = {
  readonly watch: Watch;
  /** In the audit log. */
  readonly actor: string;
  readonly limits: StorageLimits;
};

export type ChangeMembers = ReturnType<typeof makeChangeMembers>;

/** The identifier of a member: its ref, or its account in lower case. */
export const memberIdOf = ({ ref, account }: Pick<BatchEntry, 'ref' | 'account'>): string =>
  ref ?? account.toLowerCase();

/** As `memberIdOf`, of a ref or an account as a client writes it. */
export const memberIdOfText = (text: string): string =>
  /^0x[0-9a-fA-F]{40}$/.test(text) ? text.toLowerCase() : text;

/**
 * Adds, replaces and removes members of a watch. Returns once all changes are durable. One request
 * at a time changes the members of an app, so that the limit is exact. A repetition changes
 * nothing.
 *
 * @throws ServiceError `limit-reached`, `rate-limited`, `bytes-exceeded`, `overloaded`,
 *   `store-unavailable`: nothing is changed. `publish-unknown`: some of it may be changed
 */
export function makeChangeMembers(deps: Dependencies) {
  const { members: view, now } = deps;

  const recordAudit = makeRecordAudit(deps);

  const publishOne = async (member: WatchMember): Promise<void> => {
    await deps.publish(watchMember, member, { timeoutMs: PUBLISH_TIMEOUT_MS });
    // The event of a check, which its own writer has not published yet, stays in the outbox.
    if (member.event === undefined && (await view.markSent(member))) return;
    // Redis may have lost the write, and was restored before the record reached the topic.
    await view.project(member, now());
  };

  const writeOne = async (
    uid: string,
    memberId: string,
    read: WatchMember | undefined,
    by: (before: WatchMember | undefined, nowMs: number) => WatchMember | undefined,
  ): Promise<void> => {
    for (let [tries, before] = [0, read]; tries < TRIES_MAX; tries++) {
      const nowMs = now();
      const next = by(before, nowMs);
      if (next === undefined) {
        // An earlier request may have written it and failed before it published it.
        if (before && isUnchecked(before)) await publishOne(before);
        return;
      }
      const after = { ...next, version: Math.max(nowMs, (before?.version ?? 0) + 1) };
      const dueAtMs = after.removedAt === undefined ? nowMs : undefined;
      if (await view.write(before, after, { dueAtMs })) return publishOne(after);
      [before] = await view.readMany(uid, [memberId]);
    }
    throw new ServiceError('overloaded', 'too many concurrent writes to this member');
  };

  const walletsOfLive = async (uid: string, ids: readonly string[]): Promise<Map<string, string>> => {
    const live = new Map<string, string>();
    for await (const page of view.readInPages(uid, ids))
      for (const member of page)
        if (isPresent(member)) live.set(member.memberId, textOfWallets(member.wallets));
    return live;
  };

  /** The members of all watches of an app. Those of a deleted one are being removed. */
  const countOfApp = async (clientId: string): Promise<number> => {
    let count = 0;
    for await (const page of deps.watches.pagesOf(clientId)) count += await view.count(page.map(watchUid));
    return count;
  };

  const writeAll = async (
    watch: Watch,
    holder: string,
    ids: readonly string[],
    added: ReadonlyMap<string, BatchEntry>,
  ): Promise<void> => {
    const uid = watchUid(watch);
    const writeChunk = async (chunk: readonly string[]): Promise<void> => {
      // If the watch was deleted and created again, no process would ever remove these members.
      if (!(await deps.watches.readByUid(uid)))
        throw new ServiceError('conflict', 'the watch was deleted meanwhile');
      let at = 0;
      for await (const page of view.readInPages(uid, chunk)) {
        if (!(await view.keepLock(watch.clientId, holder, LOCK_MS)))
          throw new ServiceError('conflict', 'another request changes the members of this client app');
        const ofPage = chunk.slice(at, at + page.length);
        at += page.length;
        await Promise.all(
          ofPage.map((id, index) => {
            const entry = added.get(id);
            return writeOne(uid, id, page[index], (before, nowMs) =>
              entry ? withWallets(watch, id, entry, before, nowMs) : removedFrom(before, nowMs),
            );
          }),
        );
      }
    };
    for (let at = 0; at < ids.length; at += WRITE_CHUNK) {
      const beganMs = performance.now();
      await retry(() => writeChunk(ids.slice(at, at + WRITE_CHUNK)), {
        delayMs: CHUNK_RETRY_MS,
        mayRetry: (error) => isRetriable(error) && performance.now() - beganMs <= CHUNK_MS_MAX,
      }).catch((cause) => {
        throw new ServiceError('publish-unknown', 'some of the members may not be changed', { cause });
      });
    }
  };

  const applyChanges = async (
    { watch, actor, limits }: MembersWrite,
    { add, remove }: MemberChanges,
    holder: string,
  ) => {
    const { clientId, watchId, accountId } = watch;
    const uid = watchUid(watch);
    const added = new Map(add.map((entry) => [memberIdOf(entry), entry]));
    const removed = remove.map(memberIdOfText);
    const ids = [...added.keys(), ...removed];
    const live = await walletsOfLive(uid, ids);
    const known = [...added].filter(([id]) => live.has(id));
    const counts = {
      added: added.size - known.length,
      replaced: known.filter(([id, entry]) => live.get(id) !== textOfWallets(entry)).length,
      removed: removed.filter((id) => live.has(id)).length,
    };
    const total = async () => (await countOfApp(clientId)) + counts.added - counts.removed;
    if (counts.added > 0 && (await total()) > limits.watchMembers)
      throw new ServiceError(
        'limit-reached',
        `the limit of this client app is ${limits.watchMembers} members in all its watches; nothing was added`,
      );
    if (added.size > 0) await deps.requireRoom(clientId);
    await deps.throttle.take([writeOfDay(clientId, limits, Math.max(1, ids.length))]);
    await writeAll(watch, holder, ids, added);
    const subject = `${watchId}: ${counts.added} added, ${counts.replaced} replaced, ${counts.removed} removed`;
    try {
      await recordAudit({
        accountId,
        clientId,
        actor,
        action: 'watch-members-changed',
        subject,
        kind: 'write',
      });
      return { ...counts, members: (await view.figures(uid)).members };
    } catch (cause) {
      throw auditMissing('the members are changed', cause);
    }
  };

  return async function changeMembers(write: MembersWrite, changes: MemberChanges) {
    const { clientId } = write.watch;
    const holder = randomUUID();
    const message = 'another request changes the members of this client app';
    await acquireWithin({ ...LOCK_WAIT, message }, () => view.lock(clientId, holder, LOCK_MS));
    try {
      return await applyChanges(write, changes, holder);
    } finally {
      await view.unlock(clientId, holder);
    }
  };
}

function withWallets(
  watch: Watch,
  memberId: string,
  { account, accounts, vaults }: BatchEntry,
  before: WatchMember | undefined,
  nowMs: number,
): WatchMember | undefined {
  const at = new Date(nowMs).toISOString();
  const next = {
    wallets: {
      account,
      ...(accounts === undefined ? {} : { accounts }),
      ...(vaults === undefined ? {} : { vaults }),
    },
    // Later than that of the wallets before, whatever the clock says: an answer is known by it.
    walletsAt: new Date(Math.max(nowMs, Date.parse(before?.walletsAt ?? at) + 1)).toISOString(),
    owed: { since: at, blocks: {}, why: { cause: 'schedule' as const } },
  };
  if (!isPresent(before))
    return {
      watchUid: watchUid(watch),
      memberId,
      version: 1,
      addedAt: at,
      sequence: 0,
      roles: [],
      ...next,
    };
  if (textOfWallets(before.wallets) === textOfWallets(next.wallets)) return undefined;
  const { checked: _, ...rest } = before;
  return { ...rest, ...next, roles: rest.roles.map(withoutHeldBack) };
}

/** Ignores case: the same wallet with another checksum must not cause a check, which costs
 * quota. */
const textOfWallets = ({
  account,
  accounts,
  vaults,
}: Pick<BatchEntry, 'account' | 'accounts' | 'vaults'>): string =>
  JSON.stringify([account, accounts, vaults]).toLowerCase();

/** Whether no check has published the member as it is now. */
const isUnchecked = ({ removedAt, checked }: WatchMember): boolean =>
  removedAt !== undefined || checked === undefined;

const removedFrom = (before: WatchMember | undefined, nowMs: number): WatchMember | undefined =>
  isPresent(before) ? removedMember(before, new Date(nowMs).toISOString()) : undefined;
