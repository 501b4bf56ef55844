import { contractsOf, type RuleSet } from '#shared/contracts/rule-set.ts';
import {
  type HeldRole,
  type Watch,
  watchKey,
  watch as watchTopic,
  watchUid,
} from '#shared/contracts/watch.ts';
import { watchEventId } from '#shared/contracts/watch-event.ts';
import type { WriteDocument } from '#shared/documents/write-document.ts';
import { describeError } from '#shared/errors.ts';
import type { ClientApps } from '#shared/redis/client-apps.ts';
import type { FollowedContracts } from '#shared/redis/followed-contracts.ts';
import type { RuleSets } from '#shared/redis/rule-sets.ts';
import type { WatchFigures, WatchMembers } from '#shared/redis/watch-members.ts';
import type { WatchSweeps } from '#shared/redis/watch-sweeps.ts';
import type { Watches } from '#shared/redis/watches.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { rulesNameOf } from './ask-checks.ts';
import { composeWatchHeld } from './domain/compose-event.ts';
import { nextSweepAt } from './domain/next-sweep-at.ts';
import type { WatcherMetrics } from './metrics.ts';
import type { PublishChanges } from './publish-changes.ts';
import type { RemoveMembers } from './remove-members.ts';
import { beginSweep } from './run-sweeps.ts';

/** The contracts to follow are written again this often: Redis may have lost them. */
const FOLLOW_AGAIN_MS = 30_000;
/** A watch is processed at least this often, because an announcement or a due time may have been lost. */
const TEND_AGAIN_MS = 30_000;
/** A watch that could not be processed, or whose deletion continues, is processed again after this time. */
const TEND_SOON_MS = 2_000;
/** Watches of a partition that are processed in one round. */
const WATCHES_MAX = 1_000;
/** Watches without a due time are searched this often. */
const FILL_MS = 60_000;
/** How long after a release held roles are not announced: the release is still being carried out. */
const RELEASE_MS = 30_000;

type Dependencies = {
  readonly watches: Watches;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly clientApps: Pick<ClientApps, 'read'>;
  readonly members: Pick<WatchMembers, 'figures' | 'forget'>;
  readonly sweeps: WatchSweeps;
  readonly followed: Pick<FollowedContracts, 'follow'>;
  readonly removeMembers: RemoveMembers;
  readonly writeDocument: WriteDocument;
  readonly publishEvent: PublishChanges['publishEvent'];
  readonly metrics: Pick<WatcherMetrics, 'setWatches' | 'setOverdue'>;
  readonly log: Logger;
  readonly isOwned: (partition: number) => boolean;
  readonly partitions: readonly number[];
  /** When the first due member of the own partitions was due, epoch ms. */
  readonly oldestDueAt: () => Promise<number | undefined>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

type Held = Omit<HeldRole, 'heldAt'>;

/** The figures of a watch for the metrics. */
type Tended = {
  /** Since when a sweep has been due and not begun, epoch ms. */
  readonly dueSinceMs: number | undefined;
  readonly members: number;
  readonly isHeld: boolean;
};

/**
 * Processes the watches whose sweeps this process starts: it begins due sweeps, announces held roles and ends deleted watches. A
 * watch is read when it is due: when it or its rule set has changed, when a sweep of it begins or has ended, and every 30 s.
 */
export function makeTendWatches(deps: Dependencies) {
  const followedAt = new Map<string, { readonly atMs: number; readonly followed: string }>();
  const changeStored = (watch: Watch, by: (current: Watch) => Watch | undefined) =>
    deps.writeDocument({ ...deps.watches.documents, topic: watchTopic }, watchKey(watch), (current) =>
      current && watchUid(current) === watchUid(watch) ? by(current) : undefined,
    );
  const change: typeof changeStored = (watch, by) =>
    changeStored(watch, (current) => (current.deletedAt === undefined ? by(current) : undefined));

  const publishHeldEvent = async (watch: Watch): Promise<void> => {
    if (watch.event === undefined) return;
    const { id } = watch.event;
    await deps.publishEvent(watch, watch.event);
    await change(watch, ({ event, ...rest }) => (event?.id === id ? rest : undefined));
  };

  const isReleasedSince = ({ releasedAt }: Watch, sinceMs: number): boolean =>
    releasedAt !== undefined && Date.parse(releasedAt) > sinceMs;

  /**
   * Tells the client of roles that were not held before: the document first, with the bytes, then the event. After a release
   * since `sinceMs` they may be held no more.
   */
  const announceHeld = async (watch: Watch, roles: readonly Held[], sinceMs: number): Promise<void> => {
    const written = await change(watch, (current) => {
      if (isReleasedSince(current, sinceMs)) return undefined;
      const news = roles.filter(({ id }) => !current.held.some((held) => held.id === id));
      if (news.length === 0 || current.event !== undefined) return undefined;
      const heldAt = new Date(deps.now()).toISOString();
      const id = watchEventId(
        `${watchUid(current)}/held/${current.version}/${news.map((role) => role.id).join()}`,
      );
      const held = [...current.held, ...news.map((role) => ({ ...role, heldAt }))];
      return { ...current, held, event: composeWatchHeld(current, news, id, heldAt) };
    });
    if (written?.changed) await publishHeldEvent(written.document);
  };

  /** Updates the held roles of the document from the members. */
  const tendHeld = async (watch: Watch, { held, holders }: WatchFigures): Promise<void> => {
    const sinceMs = deps.now() - RELEASE_MS;
    if (isReleasedSince(watch, sinceMs) || (await deps.sweeps.read(watchUid(watch)))) return;
    const roles = [...held].map(([id, revocations]) => ({ id, revocations, holders: holders.get(id) ?? 0 }));
    await announceHeld(watch, roles, sinceMs);
    if (watch.held.some(({ id }) => !held.has(id)))
      await change(watch, (current) => ({ ...current, held: current.held.filter(({ id }) => held.has(id)) }));
  };

  /** Returns since when the sweep of a watch has been due and not begun, epoch ms. */
  const tendSweep = async (watch: Watch, ruleSet: RuleSet): Promise<number | undefined> => {
    const uid = watchUid(watch);
    const nowMs = deps.now();
    const rules = rulesNameOf(ruleSet);
    if (watch.sweptRules !== rules) {
      const isFirst = watch.sweptRules === undefined;
      if (!isFirst && !(await beginSweep(deps, watch, ruleSet, 'rule-set'))) return undefined;
      await change(watch, (current) => ({ ...current, sweptRules: rules }));
      return undefined;
    }
    const next = await deps.sweeps.nextAt(uid);
    const slot = nextSweepAt(uid, watch.everySeconds, nowMs);
    // Another interval may have brought the slot forward.
    if (next === undefined || next > slot) {
      await deps.sweeps.setNext(uid, slot);
      return undefined;
    }
    if (next > nowMs) {
      await deps.watches.setDue(uid, next);
      return undefined;
    }
    // The end of the sweep that is running makes the watch due.
    if (!(await beginSweep(deps, watch, ruleSet, 'schedule'))) return next;
    await deps.sweeps.setNext(uid, slot);
    return undefined;
  };

  const follow = async (watch: Watch, ruleSet: RuleSet): Promise<void> => {
    const uid = watchUid(watch);
    const { blockTag } = watch;
    const isFollowing = watch.follow && !watch.paused;
    const contracts = isFollowing ? contractsOf(ruleSet).map((contract) => ({ ...contract, blockTag })) : [];
    const followed = JSON.stringify(contracts);
    const last = followedAt.get(uid);
    if (last?.followed === followed && deps.now() - last.atMs < FOLLOW_AGAIN_MS) return;
    await deps.followed.follow(uid, contracts);
    followedAt.set(uid, { atMs: deps.now(), followed });
  };

  /** Removes the data of a watch that was deleted, some at a time; whether all of it is gone. */
  const end = async (watch: Watch): Promise<boolean> => {
    const uid = watchUid(watch);
    const { members } = await deps.members.figures(uid);
    if (members > 0) {
      await deps.removeMembers(watch);
      await deps.watches.setDue(uid, deps.now() + TEND_SOON_MS);
      return false;
    }
    followedAt.delete(uid);
    await deps.followed.follow(uid, []);
    await deps.sweeps.forget(uid);
    await deps.members.forget(uid);
    return true;
  };

  /** Removes the data of a deleted watch with the same id; whether all of it is gone. */
  const endFormer = async ({ formerCreatedAt, ...watch }: Watch): Promise<boolean> => {
    if (formerCreatedAt === undefined) return true;
    if (!(await end({ ...watch, createdAt: formerCreatedAt }))) return false;
    await changeStored(watch, ({ formerCreatedAt: _, ...rest }) => rest);
    return true;
  };

  /** Ends the watches of an app that was deleted. */
  const endWithApp = async (watch: Watch): Promise<boolean> => {
    const app = await deps.clientApps.read(watch.clientId);
    if (app && app.deletedAt === undefined) return false;
    await change(watch, (current) => ({ ...current, deletedAt: new Date(deps.now()).toISOString() }));
    return true;
  };

  /** Returns undefined if the watch was deleted. */
  const tend = async (watch: Watch): Promise<Tended | undefined> => {
    if (watch.deletedAt !== undefined || (await endWithApp(watch))) {
      const isEnded = (await endFormer(watch)) && (await end(watch));
      // A request in progress may still add members. The waits double, because a client can delete thousands of watches.
      if (isEnded && watch.deletedAt !== undefined) {
        const nowMs = deps.now();
        const ageMs = nowMs - Date.parse(watch.deletedAt);
        await deps.watches.postpone(watchUid(watch), nowMs + Math.max(TEND_AGAIN_MS, ageMs));
      }
      return undefined;
    }
    await endFormer(watch);
    await publishHeldEvent(watch);
    const figures = await deps.members.figures(watchUid(watch));
    await tendHeld(watch, figures);
    const ruleSet = await deps.ruleSets.read(watch.clientId, watch.ruleSet);
    if (ruleSet) await follow(watch, ruleSet);
    const dueSinceMs = ruleSet && !watch.paused ? await tendSweep(watch, ruleSet) : undefined;
    return { dueSinceMs, members: figures.members, isHeld: watch.held.length > 0 };
  };

  /** The watches of the own partitions. */
  const known = new Map<number, { filledAtMs: number; readonly tended: Map<string, Tended> }>();
  let areAllDue = false;

  const tendPartition = async (partition: number, which: 'all' | 'without'): Promise<void> => {
    const nowMs = deps.now();
    const own = known.get(partition) ?? { filledAtMs: -Infinity, tended: new Map<string, Tended>() };
    if (which === 'all' || nowMs - own.filledAtMs > FILL_MS) {
      await deps.watches.setAllDue(partition, nowMs, which);
      known.set(partition, { ...own, filledAtMs: nowMs });
    }
    const due = await deps.watches.claimDue(partition, nowMs, nowMs + TEND_AGAIN_MS, WATCHES_MAX);
    for (const watch of due)
      try {
        const tended = await tend(watch);
        if (tended) own.tended.set(watchKey(watch), tended);
        else own.tended.delete(watchKey(watch));
      } catch (error) {
        // A failure does not affect the other watches.
        deps.log.warn({ watch: watchUid(watch), error: describeError(error) }, 'watch not processed');
        await deps.watches.setDue(watchUid(watch), nowMs + TEND_SOON_MS);
      }
  };

  return {
    announceHeld,
    pause: async (watch: Watch, reason: NonNullable<Watch['paused']>['reason']): Promise<void> =>
      void (await change(watch, (current) =>
        current.paused
          ? undefined
          : { ...current, paused: { reason, at: new Date(deps.now()).toISOString() } },
      )),
    /** Makes the next round process every watch, because changes may have been missed. */
    tendAll(): void {
      areAllDue = true;
    },
    async tendWatches(): Promise<void> {
      for (const partition of known.keys()) if (!deps.isOwned(partition)) known.delete(partition);
      const which = areAllDue ? 'all' : 'without';
      areAllDue = false;
      for (const partition of deps.partitions.filter(deps.isOwned)) await tendPartition(partition, which);
      const totals = { members: 0, held: 0 };
      let oldest = (await deps.oldestDueAt()) ?? Infinity;
      for (const { tended } of known.values())
        for (const { members, isHeld, dueSinceMs = Infinity } of tended.values()) {
          totals.members += members;
          totals.held += Number(isHeld);
          oldest = Math.min(oldest, dueSinceMs);
        }
      deps.metrics.setWatches(totals);
      deps.metrics.setOverdue(Math.max(0, deps.now() - oldest) / 1_000);
    },
  };
}
