import { contractsToFollow } from '#shared/contracts/rules/rule-set.ts';
import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import type { Dependencies } from '../dependencies.ts';
import { updateHeld } from './announce-held.ts';
import { beginDueSweep } from './begin-due-sweep.ts';
import { deleteWithApp, endFormer, endWatch } from './end-watch.ts';
import { judgeBlindness } from './judge-blindness.ts';

/** A watch is processed at least this often, because an announcement or a due time may have been
 * lost. */
export const PROCESS_AGAIN_MS = 30_000;

/** The figures of a watch for the metrics. */
export type WatchStatus = {
  /** Since when a sweep has been due and not begun, epoch ms. */
  readonly dueSinceMs: number | undefined;
  readonly members: number;
  readonly isHeld: boolean;
};

/**
 * Processes one watch: announces held roles, follows its contracts and begins a due sweep, or ends
 * it if it was deleted.
 *
 * @returns `undefined` if the watch was deleted
 */
export async function processWatch(deps: Dependencies, found: Watch): Promise<WatchStatus | undefined> {
  if (found.deletedAt !== undefined || (await deleteWithApp(deps, found)))
    return void (await processDeleted(deps, found));
  const watch = await resumeOnNewDay(deps, found);
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

/** At midnight (UTC) the account has its bytes again: the watch goes on, as if it was resumed. */
async function resumeOnNewDay(deps: Dependencies, watch: Watch): Promise<Watch> {
  const at = new Date(deps.now()).toISOString();
  const isOver = ({ paused }: Watch): boolean =>
    paused?.reason === 'bytes-per-day' && paused.at.slice(0, 10) < at.slice(0, 10);
  if (!isOver(watch)) return watch;
  const written = await deps.change(watch, (current) => {
    const { paused: _, ...resumed } = current;
    return isOver(current) ? { ...resumed, sweepAskedAt: at } : undefined;
  });
  return written?.document ?? watch;
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
