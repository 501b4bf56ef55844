import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { BatchEntry } from '#shared/contracts/batch.ts';
import type { StorageLimits } from '#shared/contracts/tiers.ts';
import { type Watch, type WatchMember, watchMember, watchUid } from '#shared/contracts/watch.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Throttle } from '#shared/redis/throttle.ts';
import type { WatchMembers } from '#shared/redis/watch-members.ts';
import { writeOfDay } from './write-rule-sets.ts';

/** Longer than the writes of one request take. */
const LOCK_MS = 30_000;
const LOCK_WAIT_MS_MAX = 3_000;
const LOCK_RETRY_MS = 50;
const CHUNK = 500;
const TRIES_MAX = 20;
const PUBLISH_TIMEOUT_MS = 8_000;

type Dependencies = {
  readonly members: Pick<
    WatchMembers,
    'readMany' | 'write' | 'markSent' | 'countOfApp' | 'figures' | 'lock' | 'unlock'
  >;
  readonly throttle: Pick<Throttle, 'take'>;
  readonly publish: KafkaConnection['publish'];
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

export type MemberChanges = {
  readonly add: readonly BatchEntry[];
  /** Refs or accounts. */
  readonly remove: readonly string[];
};

export type MembersChanged = {
  readonly added: number;
  readonly replaced: number;
  readonly removed: number;
  readonly members: number;
};

export type ChangeMembers = (
  watch: Watch,
  limits: StorageLimits,
  changes: MemberChanges,
) => Promise<MembersChanged>;

/** What identifies a member: its ref, or its account in lower case. */
export const memberIdOf = ({ ref, account }: Pick<BatchEntry, 'ref' | 'account'>): string =>
  ref ?? account.toLowerCase();

/** As `memberIdOf`, of a ref or an account as a client writes it. */
export const memberIdOfText = (text: string): string =>
  /^0x[0-9a-fA-F]{40}$/.test(text) ? text.toLowerCase() : text;

/**
 * Adds, replaces and removes members of a watch. Returns once all of it is durable. The writes of one app's members come
 * one request after another, so that its limit is exact.
 *
 * @throws ServiceError `limit-reached` (nothing is changed), `rate-limited`, `overloaded`, and the errors of a write
 */
export function makeChangeMembers(deps: Dependencies): ChangeMembers {
  const { members: view, now } = deps;

  const writeOne = async (
    uid: string,
    memberId: string,
    read: WatchMember | undefined,
    by: (before: WatchMember | undefined, nowMs: number) => WatchMember | undefined,
  ): Promise<void> => {
    for (let [tries, before] = [0, read]; tries < TRIES_MAX; tries++) {
      const nowMs = now();
      const next = by(before, nowMs);
      if (next === undefined) return;
      const after = { ...next, version: Math.max(nowMs, (before?.version ?? 0) + 1) };
      const dueAtMs = after.removedAt === undefined ? nowMs : undefined;
      if (await view.write(before, after, nowMs, { dueAtMs })) {
        await deps.publish(watchMember, after, { timeoutMs: PUBLISH_TIMEOUT_MS });
        // The event of a check, which its own writer has not published yet, stays in the outbox.
        if (after.event === undefined) await view.markSent(after);
        return;
      }
      [before] = await view.readMany(uid, [memberId]);
    }
    throw new ServiceError('overloaded', 'a member is being written by too many');
  };

  const carryOut = async (watch: Watch, limits: StorageLimits, changes: MemberChanges) => {
    const uid = watchUid(watch);
    const added = new Map(changes.add.map((entry) => [memberIdOf(entry), entry]));
    const ids = [...added.keys(), ...changes.remove.map(memberIdOfText)];
    const known = new Map<string, WatchMember | undefined>();
    for (let i = 0; i < ids.length; i += CHUNK) {
      const some = ids.slice(i, i + CHUNK);
      for (const [index, found] of (await view.readMany(uid, some)).entries())
        known.set(some[index] ?? '', found);
    }
    const isLive = (id: string) => known.get(id) !== undefined && known.get(id)?.removedAt === undefined;
    const counts = {
      added: [...added.keys()].filter((id) => !isLive(id)).length,
      replaced: [...added.keys()].filter(isLive).length,
      removed: changes.remove.filter((text) => isLive(memberIdOfText(text))).length,
    };
    const total = (await view.countOfApp(watch.clientId)) + counts.added - counts.removed;
    if (counts.added > 0 && total > limits.watchMembers)
      throw new ServiceError(
        'limit-reached',
        `this client app may have ${limits.watchMembers} members in all its watches; nothing was added`,
      );
    await deps.throttle.take([writeOfDay(watch.clientId, limits, Math.max(1, ids.length))]);
    for (let i = 0; i < ids.length; i += CHUNK)
      await Promise.all(
        ids.slice(i, i + CHUNK).map((id) => {
          const entry = added.get(id);
          return writeOne(uid, id, known.get(id), (before, nowMs) =>
            entry ? withWallets(watch, id, entry, before, nowMs) : removedFrom(before, nowMs),
          );
        }),
      );
    return { ...counts, members: (await view.figures(uid)).members };
  };

  return async function changeMembers(watch, limits, changes) {
    const holder = randomUUID();
    for (const beganMs = performance.now(); !(await view.lock(watch.clientId, holder, LOCK_MS)); ) {
      if (performance.now() - beganMs > LOCK_WAIT_MS_MAX)
        throw new ServiceError('overloaded', 'another request changes the members of this client app');
      await delay(LOCK_RETRY_MS);
    }
    try {
      return await carryOut(watch, limits, changes);
    } finally {
      await view.unlock(watch.clientId, holder);
    }
  };
}

function withWallets(
  watch: Watch,
  memberId: string,
  { account, accounts, vaults, ref }: BatchEntry,
  before: WatchMember | undefined,
  nowMs: number,
): WatchMember | undefined {
  const at = new Date(nowMs).toISOString();
  const wallets = {
    account,
    ...(accounts === undefined ? {} : { accounts }),
    ...(vaults === undefined ? {} : { vaults }),
  };
  if (before !== undefined && before.removedAt === undefined) {
    const { account: one, accounts: many, vaults: cold, ...rest } = before;
    const same = JSON.stringify([one, many, cold]) === JSON.stringify([account, accounts, vaults]);
    return same ? undefined : { ...rest, ...wallets, walletsAt: at };
  }
  return {
    clientId: watch.clientId,
    watchId: watch.watchId,
    watchCreatedAt: watch.createdAt,
    memberId,
    version: 1,
    ...wallets,
    ...(ref === undefined ? {} : { ref }),
    addedAt: at,
    walletsAt: at,
    sequence: 0,
    roles: [],
    blockNumbers: {},
    errors: [],
  };
}

function removedFrom(before: WatchMember | undefined, nowMs: number): WatchMember | undefined {
  if (before === undefined || before.removedAt !== undefined) return undefined;
  return { ...before, roles: [], errors: [], removedAt: new Date(nowMs).toISOString() };
}
