import { contractsToFollow } from '#shared/contracts/rules/rule-set.ts';
import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import type { RuleSets } from '#shared/stores/rules/rule-sets.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import { type AnnounceHeldDependencies, makeAnnounceHeld } from './announce-held.ts';
import { type BeginDueSweepDependencies, makeBeginDueSweep } from './begin-due-sweep.ts';
import { type ChangeWatchDependencies, makeChangeWatch } from './change-watch.ts';
import { type EndWatchDependencies, makeEndWatch } from './end-watch.ts';
import { type JudgeBlindnessDependencies, makeJudgeBlindness } from './judge-blindness.ts';

/** A watch is processed at least this often, because an announcement or a due time may have been
 * lost. */
export const PROCESS_AGAIN_MS = 30_000;

type Dependencies = ChangeWatchDependencies &
  AnnounceHeldDependencies &
  BeginDueSweepDependencies &
  EndWatchDependencies &
  JudgeBlindnessDependencies & {
    readonly watches: Pick<Watches, 'postpone'>;
    readonly ruleSets: Pick<RuleSets, 'read'>;
  };

/** The figures of a watch for the metrics. */
export type WatchStatus = {
  /** Since when a sweep has been due and not begun, epoch ms. */
  readonly dueSinceMs: number | undefined;
  readonly members: number;
  readonly isHeld: boolean;
};

/** Processes one watch: announces held roles, follows its contracts and begins a due sweep, or ends
 * it if it was deleted. */
export function makeProcessWatch(deps: Dependencies) {
  const { change, changeStored, noteSwept, pause } = makeChangeWatch(deps);
  const { announceHeld, publishWatchEvent, updateHeld } = makeAnnounceHeld(deps, change);
  const { endWatch, endFormer, deleteWithApp } = makeEndWatch(deps, { change, changeStored });
  const beginDueSweep = makeBeginDueSweep(deps, change);
  const judgeBlindness = makeJudgeBlindness(deps, change, publishWatchEvent);

  /** At midnight (UTC) the account has its bytes again: the watch goes on, as if it was resumed. */
  const resumeOnNewDay = async (watch: Watch): Promise<Watch> => {
    const isOver = ({ paused }: Watch): boolean =>
      paused?.reason === 'bytes-per-day' && paused.at.slice(0, 10) < isoOf(deps.now()).slice(0, 10);
    if (!isOver(watch)) return watch;
    const written = await change(watch, ({ paused, ...current }) =>
      isOver({ ...current, ...(paused && { paused }) })
        ? { ...current, sweepAskedAt: isoOf(deps.now()) }
        : undefined,
    );
    return written?.document ?? watch;
  };

  const processDeleted = async (watch: Watch): Promise<void> => {
    const isEnded = (await endFormer(watch)) && (await endWatch(watch));
    if (!isEnded || watch.deletedAt === undefined) return;
    // A request in progress may still add members. The waits double, because a client can delete
    // thousands of watches.
    const nowMs = deps.now();
    const ageMs = nowMs - Date.parse(watch.deletedAt);
    await deps.watches.postpone(watchUid(watch), nowMs + Math.max(PROCESS_AGAIN_MS, ageMs));
  };

  return {
    pause,
    noteSwept,
    announceHeld,
    /** Returns `undefined` if the watch was deleted. */
    async processWatch(found: Watch): Promise<WatchStatus | undefined> {
      if (found.deletedAt !== undefined || (await deleteWithApp(found)))
        return void (await processDeleted(found));
      const watch = await resumeOnNewDay(found);
      await endFormer(watch);
      await publishWatchEvent(watch);
      const figures = await deps.members.figures(watchUid(watch));
      await updateHeld(watch, figures);
      const ruleSet = await deps.ruleSets.read(watch.clientId, watch.ruleSet);
      // Each time, because Redis may have lost them.
      if (ruleSet) await deps.followed.follow(watchUid(watch), contractsToFollow(ruleSet, watch));
      if (ruleSet && !watch.paused) await judgeBlindness(watch, ruleSet);
      const dueSinceMs = ruleSet && !watch.paused ? await beginDueSweep(watch, ruleSet, figures) : undefined;
      return { dueSinceMs, members: figures.members, isHeld: watch.held.length > 0 };
    },
  };
}

const isoOf = (ms: number): string => new Date(ms).toISOString();
