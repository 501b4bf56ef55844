import { isDeepStrictEqual } from 'node:util';
import type { StorageLimits } from '#shared/contracts/apps/tiers.ts';
import { contractsToFollow, type RuleSet, rulesNameOf } from '#shared/contracts/rules/rule-set.ts';
import {
  MEMBER_PARTITIONS,
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
import { auditMissing, makeRecordAudit } from '../audit/audit-trail.ts';
import { liveOf } from '../documents/versioned-documents.ts';
import {
  acquireWithin,
  makeWriteDocument,
  requireVersion,
  underHold,
  type WriteDependencies,
  writeOfDay,
} from '../documents/write-document.ts';
import type { RuleSetHold, RuleSets } from '../rules/rule-sets.ts';
import { makePresentWatch, type PresentWatchDependencies } from './present-watch.ts';

/** How long a watch waits for the deletion of its rule set. */
const HOLD_WAIT = { msMax: 3_000, retryMs: 25 } as const;
/** How long a watch waits until the watcher has removed an earlier one with its id: the watcher
 * looks every 2 s. */
const REMOVAL_WAIT = { msMax: 3_000, retryMs: 100 } as const;

type Dependencies = WriteDependencies &
  PresentWatchDependencies & {
    readonly watches: Pick<Watches, 'documents' | 'read'>;
    readonly sweeps: Pick<WatchSweeps, 'bringForward'>;
    readonly followed: Pick<FollowedContracts, 'follow'>;
    readonly ruleSets: Pick<RuleSets, 'hold'>;
  };

/** Whose watch is written, and by whom. */
export type WatchWrite = {
  readonly clientId: string;
  readonly accountId: string;
  readonly watchId: string;
  /** In the audit log: a key's id, an e-mail address of the portal, or `operator`. */
  readonly actor: string;
  /** Absent for an operator, who has no budget. */
  readonly limits?: StorageLimits;
  /** Whether the write may continue at this version of the settings; `undefined`: there is none. */
  readonly mayWrite?: (version: number | undefined) => boolean;
};

export type WatchWrites = ReturnType<typeof makeWatchWrites>;

type Change = (current: Watch | undefined) => Watch | undefined;

/**
 * Writes to watches. Each returns once it is in effect, in the topic and in the view; each that
 * changed something costs one of the day's writes.
 *
 * @throws ServiceError `watch-not-found`, `rule-set-unknown`, `version-conflict`, `limit-reached`,
 *   `rate-limited`, `bytes-exceeded`, and the errors of a write
 */
export function makeWatchWrites(deps: Dependencies) {
  const write = makeWriteDocument(deps);
  const recordAudit = makeRecordAudit(deps);
  const store = { ...deps.watches.documents, topic: watchTopic };
  const nowIso = () => new Date(deps.now()).toISOString();

  async function change(request: WatchWrite, action: string, by: Change): Promise<Watch | undefined> {
    const { clientId, accountId, watchId, actor, limits, mayWrite = () => true } = request;
    const next: Change = (current) => {
      requireVersion(`the watch ${watchId}`, liveOf(current)?.settingsVersion, mayWrite);
      return by(current);
    };
    const before = await store.read(watchKey(request));
    // A write that changes nothing is free.
    const after = next(before);
    if (!after) return before;
    if (limits && after.deletedAt === undefined) await deps.requireRoom(clientId);
    if (limits) await deps.throttle.take([writeOfDay(clientId, limits)]);
    const written = await write(store, watchKey(request), next);
    if (written?.changed)
      await recordAudit({ accountId, clientId, actor, action, subject: watchId, kind: 'write' }).catch(
        (cause) => {
          throw auditMissing('the watch is written', cause);
        },
      );
    return written?.document;
  }

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
    const { clientId, watchId, limits, mayWrite = () => true } = request;
    const ruleSet = await readRuleSet(request, settings.ruleSet);
    const rules = rulesNameOf(ruleSet);
    let isNew = false;
    const existing = await deps.watches.read(clientId, watchId);
    // Before the slot: a refused write must not hold it.
    requireVersion(`the watch ${watchId}`, existing?.settingsVersion, mayWrite);
    if (!existing) await waitForRemoval(request);
    if (!existing && limits && !(await deps.slots.take(watchSlotsKey(clientId), watchId, limits.watches)))
      throw new ServiceError(
        'limit-reached',
        `this client app has reached its limit of ${limits.watches} watches; delete one first`,
      );
    const watch = await change(request, 'watch-written', (current) => {
      isNew = liveOf(current) === undefined;
      // The watch was deleted meanwhile, so this write has no slot.
      if (isNew && existing) throw deletedMeanwhile();
      return nextOf(request, settings, current, nowIso(), rules);
    });
    if (!watch) throw deletedMeanwhile();
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
      const watch = await changeLive(request, 'watch-resumed', ({ paused, ...current }) =>
        paused === undefined ? undefined : { ...current, sweepAskedAt: nowIso() },
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
    /** Makes every partition send the revocations that it holds now. The commands come first, so a
     * crash in between loses nothing. */
    async release({ limits, mayWrite = () => true, ...request }: WatchWrite): Promise<Watch> {
      const { clientId, watchId } = request;
      const watch = await deps.watches.read(clientId, watchId);
      if (!watch) throw notFound(watchId);
      // Before the commands, which cannot be undone.
      requireVersion(`the watch ${watchId}`, watch.settingsVersion, mayWrite);
      if (limits) await deps.throttle.take([writeOfDay(clientId, limits)]);
      const at = nowIso();
      const command = { command: 'release', clientId, watchUid: watchUid(watch), at } as const;
      await Promise.all(
        Array.from({ length: MEMBER_PARTITIONS }, (_, partition) =>
          deps.publish(watchEvaluated, { ...command, partition }),
        ),
      );
      return changeLive(request, 'watch-released', (current) => ({ ...current, held: [], releasedAt: at }));
    },
    ...makePresentWatch(deps),
  };
}

const BEING_REMOVED = 'the members of deleted watches with this id are being removed';
const deletedMeanwhile = () => new ServiceError('overloaded', 'the watch was deleted meanwhile');
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
  const { formerRuleSet: _, ...rest } = live;
  if (isDeepStrictEqual(live, { ...live, ...settings })) return undefined;
  return {
    ...rest,
    ...settings,
    ...(settings.ruleSet === live.ruleSet ? {} : { formerRuleSet: live.ruleSet }),
    settingsVersion: live.settingsVersion + 1,
    updatedAt: at,
  };
}
