import { type RuleSet, rulesNameOf } from '#shared/contracts/rules/rule-set.ts';
import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import type { WatchFigures } from '#shared/stores/watches/members/watch-members.ts';
import type { Dependencies } from '../dependencies.ts';
import { nextSweepAt } from '../domain/next-sweep-at.ts';
import { areLooksOver, beginSweep, isSweepOf } from './run-sweeps.ts';
import { isNewWatch } from './sweep-followers.ts';

/** Begins the sweep of a watch if it is due: because its rules have changed, it was asked for, or
 * at its interval. Returns since when the sweep has been due and not begun, epoch ms. */
export async function beginDueSweep(
  deps: Dependencies,
  watch: Watch,
  ruleSet: RuleSet,
  figures: WatchFigures,
): Promise<number | undefined> {
  if (watch.sweptRules !== rulesNameOf(ruleSet)) return void (await sweepNewRules(deps, watch, ruleSet));
  const uid = watchUid(watch);
  // Redis has lost the sweep, or the time at which it is due.
  if (watch.sweepAskedAt !== undefined && (await deps.sweeps.read(uid)) === undefined)
    return void (await beginSweep(deps, watch, ruleSet, 'asked'));
  await settleLooked(deps, watch, ruleSet, figures);
  const nowMs = deps.now();
  const slot = nextSweepAt(uid, watch.everySeconds, nowMs);
  const next = await deps.sweeps.next(uid);
  // Redis has lost it, and with it what the members are owed.
  if (next === undefined && !isNewWatch(watch, nowMs)) await deps.sweepSoon(watch);
  // Another interval may have brought the slot forward.
  if (next === undefined || next.atMs > slot) return void (await deps.sweeps.bringForward(uid, slot));
  const { atMs, isForGap } = next;
  if (atMs > nowMs) return void (await deps.watches.setDue(uid, atMs));
  const isScheduled = nextSweepAt(uid, watch.everySeconds, atMs - 1) === atMs;
  const kind = isForGap ? 'gap' : isScheduled ? 'schedule' : 'asked';
  // The end of the sweep that is running makes the watch due.
  return (await beginSweep(deps, watch, ruleSet, kind)) ? undefined : atMs;
}

async function sweepNewRules(deps: Dependencies, watch: Watch, ruleSet: RuleSet): Promise<void> {
  const sweptRules = rulesNameOf(ruleSet);
  const isFirst = watch.sweptRules === undefined;
  const isBegun = isFirst || (await beginSweep(deps, watch, ruleSet, 'rule-set'));
  const running = isFirst ? undefined : await deps.sweeps.read(watchUid(watch));
  // A sweep that began before, and was not noted, must not be followed by a second one for the same
  // rules.
  const isOfRules = isSweepOf(running, watch, ruleSet);
  const asked = running && isOfRules ? { sweepAskedAt: new Date(running.since).toISOString() } : {};
  if (isBegun || isOfRules) await deps.change(watch, (current) => ({ ...current, sweptRules, ...asked }));
}

/** The revocations of a sweep that has ended are decided when the last of them was looked at again,
 * or could not be for long. */
async function settleLooked(
  deps: Dependencies,
  watch: Watch,
  ruleSet: RuleSet,
  { sweeps }: WatchFigures,
): Promise<void> {
  const ready = [...sweeps].filter(
    ([sweep, figures]) => figures.hasLooked && areLooksOver(watch, sweep, figures, deps.now()),
  );
  if (ready.length === 0) return;
  const [sweep] = ready.map(([id]) => id).toSorted((a, b) => b - a);
  await beginSweep(deps, watch, ruleSet, 'settlement', sweep);
}
