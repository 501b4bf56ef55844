import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { APP_REFUSALS, refuseApp } from '#shared/contracts/apps/refuse-app.ts';
import { contractsToFollow } from '#shared/contracts/rules/rule-set.ts';
import { type Watch, watchKey, watchUid } from '#shared/contracts/watches/watch.ts';
import { describeError } from '#shared/errors.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import { liveOf } from '#shared/stores/documents/versioned-documents.ts';
import type { Dependencies } from '../dependencies.ts';
import { updateHeld } from './announce-held.ts';
import { beginDueSweep } from './begin-due-sweep.ts';
import { deleteWithApp, endFormer, endWatch } from './end-watch.ts';
import { judgeBlindness } from './judge-blindness.ts';

/** A watch is processed at least this often, because an announcement or a due time may have been
 * lost. */
const PROCESS_AGAIN_MS = 30_000;

/** A watch that could not be processed is processed again after this time. */
const RETRY_MS = 2_000;
/** Watches of a partition that one round takes. */
const WATCHES_MAX = 1_000;
/** Watches that are processed at once. */
const AT_ONCE_MAX = 16;
/** Watches that wait for their turn. One that is dropped is due again after `PROCESS_AGAIN_MS`. */
const WAITING_MAX = 10_000;

/**
 * Processes the due watches of the own partitions, in rounds. A watch is due when it or its rule
 * set has changed, when a sweep of it begins or has ended, and every 30 s. Watches take turns by
 * account, then by client app, of all rounds together, so a round need not wait for the one before.
 */
export function makeProcessWatches(deps: Dependencies) {
  /** By partition, the statuses of its watches. */
  const own = new Map<number, Map<string, WatchStatus>>();
  let areAllDue = false;
  const queue = new FairTaskQueue({
    ...{ atOnceMax: AT_ONCE_MAX, waitingMax: WAITING_MAX },
    refusal: 'too many watches are due',
  });
  /** Keys of the watches that are processed or wait for it. */
  const busy = new Set<string>();

  const processOne = async (watch: Watch, statuses: Map<string, WatchStatus>): Promise<void> => {
    const [uid, key] = [watchUid(watch), watchKey(watch)];
    // It may have changed since it was read.
    if (busy.has(key)) return deps.watches.setDue(uid, deps.now() + RETRY_MS);
    busy.add(key);
    const work = async (): Promise<void> => {
      try {
        const status = await processWatch(deps, watch);
        if (status) statuses.set(key, status);
        else statuses.delete(key);
      } catch (error) {
        // A failure does not affect the other watches.
        deps.log.warn({ watch: uid, error: describeError(error) }, 'watch not processed');
        await deps.watches.setDue(uid, deps.now() + RETRY_MS);
      }
    };
    // One that is dropped, or whose failure Redis could not note, stays due.
    await queue.run(watch, work).catch(() => undefined);
    busy.delete(key);
  };

  const processPartition = async (partition: number, isAllDue: boolean): Promise<void> => {
    const nowMs = deps.now();
    const statuses = own.get(partition) ?? new Map<string, WatchStatus>();
    own.set(partition, statuses);
    if (isAllDue) await deps.watches.setAllDue(partition, nowMs);
    const due = await deps.watches.claimDue(partition, nowMs, nowMs + PROCESS_AGAIN_MS, WATCHES_MAX);
    await Promise.all(due.map((watch) => processOne(watch, statuses)));
  };

  const showMetrics = async (): Promise<void> => {
    const totals = { watches: 0, members: 0, held: 0 };
    const dueAt = await Promise.all(deps.partitions.filter(deps.isOwned).map(deps.members.oldestDueAt));
    // The members of a running sweep were due when it began.
    const times = [...dueAt, await deps.sweeps.oldestAt()];
    let oldest = Math.min(...times.map((atMs) => atMs ?? Infinity));
    for (const statuses of own.values())
      for (const { members, isHeld, dueSinceMs = Infinity } of statuses.values()) {
        totals.watches++;
        totals.members += members;
        totals.held += Number(isHeld);
        oldest = Math.min(oldest, dueSinceMs);
      }
    deps.metrics.setWatches(totals);
    deps.metrics.setOverdue(Math.max(0, deps.now() - oldest) / 1_000);
  };

  return {
    /** Makes the next round process every watch, because changes may have been missed. */
    processAllNext(): void {
      areAllDue = true;
    },
    async processWatches(): Promise<void> {
      for (const partition of own.keys()) if (!deps.isOwned(partition)) own.delete(partition);
      const isAllDue = areAllDue;
      areAllDue = false;
      await Promise.all(
        deps.partitions.filter(deps.isOwned).map((partition) => processPartition(partition, isAllDue)),
      );
      await showMetrics();
    },
  };
}

type WatchStatus = {
  /** Since when a sweep has been due and not begun, epoch ms. */
  readonly dueSinceMs: number | undefined;
  readonly members: number;
  readonly isHeld: boolean;
};

/** Processes one watch: announces held roles, follows its contracts and begins a due sweep, or ends
 * it if it was deleted. Returns `undefined` if the watch was deleted. */
async function processWatch(deps: Dependencies, found: Watch): Promise<WatchStatus | undefined> {
  const app = liveOf(found) && liveOf(await deps.clientApps.read(found.clientId));
  if (app === undefined) {
    if (liveOf(found)) await deleteWithApp(deps, found);
    return void (await processDeleted(deps, found));
  }
  const watch = await pauseOrResume(deps, found, app);
  await endFormer(deps, watch);
  await deps.publishWatchEvent(watch);
  const figures = await deps.members.figures(watchUid(watch));
  await updateHeld(deps, watch, figures);
  const ruleSet = await deps.ruleSets.read(watch.clientId, watch.ruleSet);
  // Each time, because Redis may have lost them.
  if (ruleSet) await deps.followed.follow(watch, contractsToFollow(ruleSet, watch));
  if (ruleSet && !watch.paused) await judgeBlindness(deps, watch, ruleSet);
  const dueSinceMs =
    ruleSet && !watch.paused ? await beginDueSweep(deps, watch, ruleSet, figures) : undefined;
  return { dueSinceMs, members: figures.members, isHeld: watch.held.length > 0 };
}

/**
 * Pauses a watch whose app may not be used. A pause that has lost its reason ends as if the watch was
 * resumed: that one, and at midnight (UTC) the one for the bytes of the day.
 */
async function pauseOrResume(deps: Dependencies, watch: Watch, app: ClientApp): Promise<Watch> {
  const at = new Date(deps.now()).toISOString();
  const refusal = refuseApp(app, 'approved')?.code;
  const change = (current: Watch): Watch | undefined => {
    const { paused, ...active } = current;
    if (refusal !== undefined) return paused ? undefined : { ...current, paused: { reason: refusal, at } };
    const isOver =
      paused?.reason === 'bytes-per-day'
        ? paused.at.slice(0, 10) < at.slice(0, 10)
        : APP_REFUSALS.some((code) => code === paused?.reason);
    return isOver ? { ...active, resumedAt: at, sweepAskedAt: at } : undefined;
  };
  if (change(watch) === undefined) return watch;
  return (await deps.change(watch, change))?.document ?? watch;
}

async function processDeleted(deps: Dependencies, watch: Watch): Promise<void> {
  const isEnded = (await endFormer(deps, watch)) && (await endWatch(deps, watch));
  if (!isEnded || watch.deletedAt === undefined) return;
  // A request in progress may still add members. The waits double, because a client can delete
  // thousands of watches.
  const nowMs = deps.now();
  const ageMs = nowMs - Date.parse(watch.deletedAt);
  await deps.watches.postpone(watchUid(watch), nowMs + Math.max(PROCESS_AGAIN_MS, ageMs));
}
