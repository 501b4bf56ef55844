import { contractsOf, type RuleSet } from '#shared/contracts/rule-set.ts';
import {
  type HeldRole,
  type Watch,
  watchKey,
  watch as watchTopic,
  watchUid,
} from '#shared/contracts/watch.ts';
import type { WriteDocument } from '#shared/documents/write-document.ts';
import type { ClientApps } from '#shared/redis/client-apps.ts';
import type { FollowedContracts } from '#shared/redis/followed-contracts.ts';
import type { RuleSets } from '#shared/redis/rule-sets.ts';
import type { WatchFigures, WatchMembers } from '#shared/redis/watch-members.ts';
import type { WatchSweeps } from '#shared/redis/watch-sweeps.ts';
import type { Watches } from '#shared/redis/watches.ts';
import { rulesNameOf } from './ask-checks.ts';
import { composeWatchHeld } from './domain/compose-event.ts';
import { nextSweepAt } from './domain/next-sweep-at.ts';
import type { WatcherMetrics } from './metrics.ts';
import { hashId, type PublishChanges } from './publish-changes.ts';
import type { RemoveMembers } from './remove-members.ts';
import { beginSweep } from './run-sweeps.ts';

/** The contracts to follow are said again this often: Redis may have lost them. */
const FOLLOW_AGAIN_MS = 30_000;
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
  readonly isOwned: (partition: number) => boolean;
  readonly partitions: readonly number[];
  /** When the first due member of the own partitions was due, epoch ms. */
  readonly oldestDueAt: () => Promise<number | undefined>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

type Held = Omit<HeldRole, 'heldAt'>;

export type TendWatch = ReturnType<typeof makeTendWatches>;

/** Sees to the watches whose sweeps this process starts: sweeps that are due, roles that are held, the end of a watch. */
export function makeTendWatches(deps: Dependencies) {
  const followedAt = new Map<string, { readonly atMs: number; readonly what: string }>();
  const change = (watch: Watch, by: (current: Watch) => Watch | undefined) =>
    deps.writeDocument({ ...deps.watches.documents, topic: watchTopic }, watchKey(watch), (current) =>
      current && current.deletedAt === undefined && watchUid(current) === watchUid(watch)
        ? by(current)
        : undefined,
    );

  const publishHeldEvent = async (watch: Watch): Promise<void> => {
    if (watch.event === undefined) return;
    const { id } = watch.event;
    await deps.publishEvent(watch, watch.event);
    await change(watch, ({ event, ...rest }) => (event?.id === id ? rest : undefined));
  };

  /** Tells the client of roles that were not held before: the document first, with the bytes, then the event. */
  const announceHeld = async (watch: Watch, roles: readonly Held[]): Promise<void> => {
    const written = await change(watch, (current) => {
      const news = roles.filter(({ id }) => !current.held.some((held) => held.id === id));
      if (news.length === 0 || current.event !== undefined) return undefined;
      const heldAt = new Date(deps.now()).toISOString();
      const id = hashId(`${watchUid(current)}/held/${current.version}/${news.map((role) => role.id).join()}`);
      const held = [...current.held, ...news.map((role) => ({ ...role, heldAt }))];
      return { ...current, held, event: composeWatchHeld(current, news, id, heldAt) };
    });
    if (written?.changed) await publishHeldEvent(written.document);
  };

  /** Brings the held roles of the document up to what the members say. */
  const tendHeld = async (watch: Watch, { held, holders }: WatchFigures): Promise<void> => {
    const isReleasing =
      watch.releasedAt !== undefined && deps.now() - Date.parse(watch.releasedAt) < RELEASE_MS;
    if (isReleasing || (await deps.sweeps.read(watchUid(watch)))) return;
    const roles = [...held].map(([id, revocations]) => ({ id, revocations, holders: holders.get(id) ?? 0 }));
    await announceHeld(watch, roles);
    if (watch.held.some(({ id }) => !held.has(id)))
      await change(watch, (current) => ({ ...current, held: current.held.filter(({ id }) => held.has(id)) }));
  };

  /** Returns for how long the sweep of a watch has been due and not begun, in ms. */
  const tendSweep = async (watch: Watch, ruleSet: RuleSet): Promise<number> => {
    const uid = watchUid(watch);
    const nowMs = deps.now();
    const rules = rulesNameOf(ruleSet);
    if (watch.sweptRules !== rules) {
      const isFirst = watch.sweptRules === undefined;
      if (!isFirst && !(await beginSweep(deps, watch, ruleSet, 'rule-set'))) return 0;
      await change(watch, (current) => ({ ...current, sweptRules: rules }));
      return 0;
    }
    const next = await deps.sweeps.nextAt(uid);
    const slot = nextSweepAt(uid, watch.everySeconds, nowMs);
    // Another interval may have brought the slot forward.
    if (next === undefined || next > slot) {
      await deps.sweeps.setNext(uid, slot);
      return 0;
    }
    if (next > nowMs) return 0;
    if (!(await beginSweep(deps, watch, ruleSet, 'schedule'))) return nowMs - next;
    await deps.sweeps.setNext(uid, slot);
    return 0;
  };

  const follow = async (watch: Watch, ruleSet: RuleSet): Promise<void> => {
    const uid = watchUid(watch);
    const { blockTag } = watch;
    const isFollowing = watch.follow && !watch.paused;
    const contracts = isFollowing ? contractsOf(ruleSet).map((contract) => ({ ...contract, blockTag })) : [];
    const what = JSON.stringify(contracts);
    const last = followedAt.get(uid);
    if (last?.what === what && deps.now() - last.atMs < FOLLOW_AGAIN_MS) return;
    await deps.followed.follow(uid, contracts);
    followedAt.set(uid, { atMs: deps.now(), what });
  };

  const end = async (watch: Watch): Promise<void> => {
    const uid = watchUid(watch);
    const { members } = await deps.members.figures(uid);
    if (members > 0) return deps.removeMembers(watch);
    followedAt.delete(uid);
    await deps.followed.follow(uid, []);
    await deps.sweeps.forget(uid);
    await deps.members.forget(uid);
  };

  /** Removes what a deleted watch with the same id has left. */
  const endFormer = async ({ formerCreatedAt, ...watch }: Watch): Promise<void> => {
    if (formerCreatedAt === undefined) return;
    const former = { ...watch, createdAt: formerCreatedAt };
    await end(former);
    if ((await deps.members.figures(watchUid(former))).members === 0)
      await change(watch, ({ formerCreatedAt: _, ...rest }) => rest);
  };

  /** Ends the watches of an app that was deleted. */
  const endWithApp = async (watch: Watch): Promise<boolean> => {
    const app = await deps.clientApps.read(watch.clientId);
    if (app && app.deletedAt === undefined) return false;
    await change(watch, (current) => ({ ...current, deletedAt: new Date(deps.now()).toISOString() }));
    return true;
  };

  const tend = async (watch: Watch): Promise<{ overdueMs: number; members: number; isHeld: boolean }> => {
    if (watch.deletedAt !== undefined || (await endWithApp(watch))) {
      await end(watch);
      return { overdueMs: 0, members: 0, isHeld: false };
    }
    await endFormer(watch);
    await publishHeldEvent(watch);
    const figures = await deps.members.figures(watchUid(watch));
    await tendHeld(watch, figures);
    const ruleSet = await deps.ruleSets.read(watch.clientId, watch.ruleSet);
    if (ruleSet) await follow(watch, ruleSet);
    const overdueMs = ruleSet && !watch.paused ? await tendSweep(watch, ruleSet) : 0;
    return { overdueMs, members: figures.members, isHeld: watch.held.length > 0 };
  };

  return {
    announceHeld,
    pause: async (watch: Watch, reason: NonNullable<Watch['paused']>['reason']): Promise<void> =>
      void (await change(watch, (current) =>
        current.paused
          ? undefined
          : { ...current, paused: { reason, at: new Date(deps.now()).toISOString() } },
      )),
    async tendWatches(): Promise<void> {
      const totals = { members: 0, held: 0 };
      let overdueMs = 0;
      for (const partition of deps.partitions.filter(deps.isOwned))
        for (const watch of await deps.watches.inPartition(partition)) {
          const tended = await tend(watch);
          totals.members += tended.members;
          totals.held += Number(tended.isHeld);
          overdueMs = Math.max(overdueMs, tended.overdueMs);
        }
      const oldest = await deps.oldestDueAt();
      if (oldest !== undefined) overdueMs = Math.max(overdueMs, deps.now() - oldest);
      deps.metrics.setWatches(totals);
      deps.metrics.setOverdue(overdueMs / 1_000);
    },
  };
}
