import { isDeepStrictEqual } from 'node:util';
import type { StorageLimits } from '#shared/contracts/apps/tiers.ts';
import { contractsToFollow, type RuleSet, rulesNameOf } from '#shared/contracts/rules/rule-set.ts';
import {
  type Watch,
  type WatchSettings,
  watchEvaluated,
  watchKey,
  watch as watchTopic,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import { ServiceError } from '#shared/errors.ts';
import type { FollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import type { WatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { type Watches, watchSlotsKey } from '#shared/stores/watches/watches.ts';
import { liveOf } from '../documents/versioned-documents.ts';
import {
  acquireWithin,
  makeChangeDocument,
  type OwnedWrite,
  requireVersion,
  underHold,
  type WriteDependencies,
  writeOfDay,
} from '../documents/write-document.ts';
import type { RuleSetHold, RuleSets } from '../rules/rule-sets.ts';
import type { WatchMembers } from './members/watch-members.ts';
import { makePresentWatch, type PresentWatchDependencies } from './present-watch.ts';

const HOLD_WAIT = { msMax: 3_000, retryMs: 25 } as const;
/** How long a watch waits until the watcher has removed an earlier one with its id: the watcher
 * looks every 2 s. */
const REMOVAL_WAIT = { msMax: 3_000, retryMs: 100 } as const;

type Dependencies = WriteDependencies &
  PresentWatchDependencies & {
    readonly watches: Pick<Watches, 'documents' | 'read'>;
    readonly sweeps: Pick<WatchSweeps, 'bringForward'>;
    readonly followed: Pick<FollowedContracts, 'follow'>;
    readonly members: Pick<WatchMembers, 'partitions'>;
    readonly ruleSets: Pick<RuleSets, 'hold'>;
  };

export type WatchWrite = OwnedWrite & {
  readonly watchId: string;
  readonly limits?: StorageLimits;
};

export type WatchWrites = ReturnType<typeof makeWatchWrites>;

/**
 * Writes to watches; see `makeChangeDocument`.
 *
 * @throws ServiceError `watch-not-found`, `rule-set-unknown`, and the errors of a change
 */
export function makeWatchWrites(deps: Dependencies) {
  const store = { ...deps.watches.documents, topic: watchTopic };
  const changeDocument = makeChangeDocument(deps, store, {
    ...{ noun: 'watch', plural: 'watches' },
    versionOf: ({ settingsVersion }) => settingsVersion,
  });
  const nowIso = () => new Date(deps.now()).toISOString();

  const change = (
    request: WatchWrite,
    action: string,
    by: (current: Watch | undefined) => Watch | undefined,
  ): Promise<Watch | undefined> => {
    const { clientId, watchId, limits } = request;
    const slots = limits && { set: watchSlotsKey(clientId), countMax: limits.watches };
    return changeDocument(request, { id: watchId, key: watchKey(request), action, slots, by });
  };

  const changeLive = async (
    request: WatchWrite,
    action: string,
    by: (current: Watch) => Watch | undefined,
  ) => {
    const written = await change(request, action, (current) => {
      const live = liveOf(current);
      if (!live) throw notFound(request.watchId);
      return by(live);
    });
    if (!written) throw notFound(request.watchId);
    return written;
  };

  const readRuleSet = async ({ clientId }: WatchWrite, id: string): Promise<RuleSet> => {
    const found = await deps.ruleSets.read(clientId, id);
    if (!found) throw new ServiceError('rule-set-unknown', `there is no rule set ${id}`);
    return found;
  };

  /** Must be held before the rule set is read: a write waits for a deletion in progress, and then
   * finds no rule set. */
  const holdRuleSet = ({ clientId }: WatchWrite, id: string): Promise<RuleSetHold> =>
    acquireWithin({ ...HOLD_WAIT, message: `the rule set ${id} is being deleted` }, () =>
      deps.ruleSets.hold(clientId, id),
    );

  /** A watch names only one predecessor: with two, the members and followed contracts of one would
   * never be removed. */
  const waitForRemoval = (request: WatchWrite): Promise<true> =>
    acquireWithin({ ...REMOVAL_WAIT, message: BEING_REMOVED }, async () => {
      const current = await store.read(watchKey(request));
      return current?.deletedAt === undefined || current.formerCreatedAt === undefined;
    });

  async function putHeld(
    request: WatchWrite,
    settings: WatchSettings,
  ): Promise<{ watch: Watch; isNew: boolean }> {
    const ruleSet = await readRuleSet(request, settings.ruleSet);
    const rules = rulesNameOf(ruleSet);
    let isNew = false;
    const { clientId, watchId, mayWrite = () => true } = request;
    const existing = await deps.watches.read(clientId, watchId);
    // Before the wait: a write that is refused does not wait.
    requireVersion(`the watch ${watchId}`, existing?.settingsVersion, mayWrite);
    if (!existing) await waitForRemoval(request);
    const watch = await change(request, 'watch-written', (current) => {
      isNew = liveOf(current) === undefined;
      return nextOf(request, settings, current, nowIso(), rules);
    });
    if (!watch) throw notFound(request.watchId);
    // The watcher does this too; done here so that the answer has the states of the contracts.
    await deps.followed.follow(watch, contractsToFollow(ruleSet, watch));
    return { watch, isNew };
  }

  const sweepNow = (watch: Watch) => deps.sweeps.bringForward(watchUid(watch), deps.now());

  return {
    put: async (request: WatchWrite, settings: WatchSettings) =>
      underHold(await holdRuleSet(request, settings.ruleSet), () => putHeld(request, settings)),
    /** Deletes a watch; nothing happens if there is none. Its members are removed by the
     * watcher. */
    async remove(request: WatchWrite): Promise<void> {
      await change(request, 'watch-deleted', (current) => {
        const live = liveOf(current);
        return live && { ...live, held: [], updatedAt: nowIso(), deletedAt: nowIso() };
      });
    },
    pause: (request: WatchWrite) =>
      changeLive(request, 'watch-paused', (current) =>
        current.paused?.reason === 'requested'
          ? undefined
          : { ...current, paused: { reason: 'requested', at: nowIso() } },
      ),
    async resume(request: WatchWrite): Promise<Watch> {
      const before = await deps.watches.read(request.clientId, request.watchId);
      // Due before it is active: the watcher would begin a sweep that came due in the pause, and
      // this one after it.
      if (before?.paused) await sweepNow(before);
      const at = nowIso();
      const watch = await changeLive(request, 'watch-resumed', ({ paused, ...current }) =>
        paused === undefined ? undefined : { ...current, resumedAt: at, sweepAskedAt: at },
      );
      if (!before?.paused) await sweepNow(watch);
      return watch;
    },
    /** Starts a sweep, once a running one has ended. */
    async check({ clientId, watchId, mayWrite = () => true }: WatchWrite): Promise<Watch> {
      const watch = await deps.watches.read(clientId, watchId);
      if (!watch) throw notFound(watchId);
      requireVersion(`the watch ${watchId}`, watch.settingsVersion, mayWrite);
      await sweepNow(watch);
      return watch;
    },
    /** Makes every partition with members send the revocations that it holds now, if there are any.
     * The commands come first, so a crash in between loses nothing. */
    async release({ limits, mayWrite = () => true, ...request }: WatchWrite): Promise<Watch> {
      const { clientId, watchId } = request;
      const watch = await deps.watches.read(clientId, watchId);
      if (!watch) throw notFound(watchId);
      // Before the commands, which cannot be undone.
      requireVersion(`the watch ${watchId}`, watch.settingsVersion, mayWrite);
      const uid = watchUid(watch);
      // A decided sweep may not have held its revocations yet: its roles are in the document.
      if (watch.held.length === 0 && (await deps.members.figures(uid)).held.size === 0) return watch;
      if (limits) {
        await deps.requireRoom(clientId);
        await deps.throttle.take([writeOfDay(clientId, limits)]);
      }
      const at = nowIso();
      const command = { command: 'release', clientId, watchUid: uid, at } as const;
      await Promise.all(
        (await deps.members.partitions(uid)).map((partition) =>
          deps.publish(watchEvaluated, { ...command, partition }),
        ),
      );
      return changeLive(request, 'watch-released', (current) => ({ ...current, held: [], releasedAt: at }));
    },
    ...makePresentWatch(deps),
  };
}

const BEING_REMOVED = 'the members of deleted watches with this id are being removed';
const notFound = (watchId: string) => new ServiceError('watch-not-found', `there is no watch ${watchId}`);

/** The next document, or undefined if the settings are the same. */
function nextOf(
  { clientId, accountId, watchId }: WatchWrite,
  settings: WatchSettings,
  current: Watch | undefined,
  at: string,
  rules: string,
): Watch | undefined {
  const live = liveOf(current);
  if (!live) {
    // It was deleted once more since the wait.
    if (current?.formerCreatedAt !== undefined) throw new ServiceError('overloaded', BEING_REMOVED);
    return {
      clientId,
      accountId,
      watchId,
      ...settings,
      version: (current?.version ?? 0) + 1,
      settingsVersion: (current?.settingsVersion ?? 0) + 1,
      ...(current === undefined ? {} : { formerCreatedAt: current.createdAt }),
      createdAt: at,
      updatedAt: at,
      held: [],
      // New members are checked as they come: there is nothing to sweep yet.
      sweptRules: rules,
    };
  }
  if (isDeepStrictEqual(live, { ...live, ...settings })) return undefined;
  return {
    ...live,
    ...settings,
    settingsVersion: live.settingsVersion + 1,
    updatedAt: at,
  };
}
