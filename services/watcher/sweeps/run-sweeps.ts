import type { RuleSet } from '#shared/contracts/rules/rule-set.ts';
import {
  partitionOfWatch,
  type Watch,
  type WatchCommand,
  watchEvaluated,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import { describeError } from '#shared/errors.ts';
import { FairShares } from '#shared/fairness/fair-shares.ts';
import type { SweepFigures } from '#shared/stores/watches/members/watch-members.ts';
import type { Sweep, SweepKind } from '#shared/stores/watches/watch-sweeps.ts';
import type { Dependencies } from '../dependencies.ts';
import type { HeldFigures } from '../domain/compose-event.ts';
import { countHeld, exceedsShare } from '../domain/exceeds-share.ts';
import { rulesStampOf } from '../domain/judge-answer.ts';
import { nextSweepAt } from '../domain/next-sweep-at.ts';
import { byEndpointsToAvoid, reachedBlocks } from '../members/check-due.ts';
import { makeOwnerOf } from '../members/watch-owners.ts';

/** A sweep ends after this time, with or without its last answers. */
export const SWEEP_MS_MAX = 15 * 60_000;
/** So long after the end of its grace, a second check is waited for by the others of its sweep. */
const LOOK_MS_MAX = SWEEP_MS_MAX;
/** Sweeps that a process continues at once: each holds its rules, up to 250 KB as JSON, in memory. */
const SWEEPS_MAX = 128;
/** A settlement that was not carried out is published again. */
const SETTLE_AGAIN_MS = 60_000;

/** Continues the running sweeps: requests the checks of the own partitions, and ends the sweeps of
 * the own watches. */
export function makeRunSweeps(deps: Dependencies) {
  /** By watch, the sweep that was settled last and when, epoch ms. */
  const settled = new Map<string, { readonly sweep: number; readonly atMs: number }>();

  const isTooLong = (sweep: number) => deps.now() - sweep > SWEEP_MS_MAX;
  const ruleSetOf = (watch: Watch) => deps.ruleSets.read(watch.clientId, watch.ruleSet);

  const ask = async (watch: Watch, ruleSet: RuleSet, begun: Sweep, partition: number) => {
    const { uid, sweep, since, kind, rules } = begun;
    const forgives = kind === 'schedule';
    const beforePart = async (requestId: string): Promise<boolean> => {
      for (let looks = 0; ; looks += 1) {
        const state = await deps.sweeps.read(uid);
        if (state?.sweep !== sweep || state.decision !== undefined || isTooLong(sweep)) return false;
        const current = await deps.watches.readByUid(uid);
        if (current && (current.paused || isOutdated(begun, current, await ruleSetOf(current)))) return false;
        const isFree =
          state.partCount < deps.partsMax &&
          (await deps.openParts.take(watch, requestId, { isOfSweep: true }));
        if (isFree) break;
        await deps.pace(looks);
      }
      await deps.sweeps.addPart(uid, sweep, requestId);
      return true;
    };
    for await (const page of deps.members.scan(uid, partition)) {
      // Another owner, or the sweep that this one goes on with, may have asked.
      const members = page.filter(
        ({ checked }) => !(checked?.rules === rules && Date.parse(checked.at) >= since),
      );
      for (const group of byEndpointsToAvoid(members, deps.now())) {
        const unrequested = await deps.requestChecks({
          watch,
          ruleSet,
          ...group,
          why: { cause: kind === 'rule-set' ? 'rule-set' : 'schedule' },
          sweep,
          // The blocks that following has read by now: a later change of a member has its own check.
          owed: forgives ? {} : await reachedBlocks(deps.positions, watch, ruleSet),
          forgives,
          isCharged: kind !== 'gap',
          beforePart,
          afterLostPart: (requestId) => deps.sweeps.finish(uid, sweep, requestId),
        });
        if (unrequested.length > 0) return false;
        if (!deps.isOwned(partition)) return true;
      }
    }
    await deps.sweeps.finish(uid, sweep, `ask/${partition}`);
    return true;
  };

  const requestAll = async (watch: Watch, ruleSet: RuleSet, state: Sweep): Promise<void> => {
    for (const partition of state.toAsk.filter(deps.isOwned))
      if (!(await ask(watch, ruleSet, state, partition))) return;
  };

  /** Roles to hold: their revocations, together with the held ones and those sent in the last hour,
   * are too many. */
  const excessiveRoles = async (watch: Watch, { uid, kind, sweep, holders }: Sweep, found: Revocations) => {
    const { held } = await deps.members.figures(uid);
    const nowMs = deps.now();
    // The holders of a settlement were counted when it began.
    const countedAt = kind === 'settlement' ? nowMs : sweep;
    const excessive: HeldFigures[] = [];
    for (const [id, revocations] of found) {
      const [sent, sentBefore] = await Promise.all([
        deps.members.countRevoked(uid, id, nowMs),
        deps.members.countRevoked(uid, id, nowMs, countedAt),
      ]);
      const together = revocations + countHeld(watch, held, id) + sent;
      const of = { id, holders: holders.get(id) ?? 0, revocations };
      // Members that lost the role before the sweep are not among its holders.
      if (exceedsShare(watch.massRevocation, together, of.holders + sentBefore)) excessive.push(of);
    }
    return excessive;
  };

  const decide = async (watch: Watch, state: Sweep) => {
    const { uid, sweep, since } = state;
    if (state.decision !== undefined) return deps.sweeps.decide(uid, sweep, state.decision);
    const { sweeps } = await deps.members.figures(uid);
    const ready = [...sweeps].filter(
      ([id, figures]) =>
        // What a former sweep found without a second check, this sweep has found again, or could not
        // read.
        areLooksOver(watch, id, figures, deps.now()) && id <= sweep && (id >= since || figures.hasLooked),
    );
    const hold = await excessiveRoles(watch, state, sumOf(ready.map(([, figures]) => figures)));
    return deps.sweeps.decide(uid, sweep, { sweeps: ready.map(([id]) => id), hold });
  };

  const conclude = async (watch: Watch, state: Sweep): Promise<void> => {
    const { uid, sweep, since } = state;
    const isOver = state.toAsk.length + state.partCount === 0 || isTooLong(sweep);
    if (state.decision === undefined && !isOver) return;
    const decision = await decide(watch, state);
    if (decision === undefined) return;
    if (state.decision !== undefined && state.toSettle.length === 0) {
      settled.delete(uid);
      if (isCutShort(state)) {
        const { holders } = await deps.members.figures(uid);
        return deps.sweeps.beginRest(uid, sweep, { sweep: deps.now(), holders });
      }
      await deps.noteSwept(watch, since);
      return deps.sweeps.end(uid, sweep);
    }
    const last = settled.get(uid);
    if (last?.sweep === sweep && deps.now() - last.atMs < SETTLE_AGAIN_MS) return;
    const at = new Date(deps.now()).toISOString();
    const { toSettle = [] } = (await deps.sweeps.read(uid)) ?? {};
    await Promise.all(
      toSettle.map((partition) => {
        const command: WatchCommand = {
          command: 'settle',
          clientId: watch.clientId,
          watchUid: uid,
          partition,
          at,
          sweep,
          sweeps: decision.sweeps,
          holdRoles: decision.hold.map(({ id }) => id),
        };
        return deps.publish(watchEvaluated, command);
      }),
    );
    settled.set(uid, { sweep, atMs: deps.now() });
    // After the commands, so that a release follows them in every partition. `updateHeld` repeats a
    // lost announcement.
    await deps.announceHeld(watch, decision.hold, sweep);
  };

  const continueSweep = async (uid: string): Promise<void> => {
    const state = await deps.sweeps.read(uid);
    const watch = await deps.watches.readByUid(uid);
    const isMine = deps.isOwned(partitionOfWatch(uid));
    if (watch === undefined) return isMine ? deps.sweeps.forget(uid) : undefined;
    // A watch that is resumed begins a new sweep.
    if (state === undefined || watch.paused) return isMine ? deps.sweeps.end(uid, state?.sweep) : undefined;
    if (state.decision === undefined) {
      const ruleSet = await ruleSetOf(watch);
      if (isOutdated(state, watch, ruleSet)) {
        if (!isMine) return;
        // First, because the rules may be the former ones again before the watch is processed.
        await deps.sweeps.bringForward(uid, deps.now());
        return deps.sweeps.end(uid, state.sweep);
      }
      if (ruleSet) await requestAll(watch, ruleSet, state);
    }
    // The requests may have taken minutes: a release meanwhile counts.
    const [asked, current] = await Promise.all([deps.sweeps.read(uid), deps.watches.readByUid(uid)]);
    if (isMine && asked && current && !current.paused) await conclude(current, asked);
  };

  const ownerOf = makeOwnerOf(deps.watches);
  const shares = new FairShares(SWEEPS_MAX);
  /** The watches whose sweeps are being continued. */
  const busy = new Set<string>();
  return async function runSweeps(): Promise<void> {
    for (const uid of await deps.sweeps.running()) {
      if (busy.has(uid)) continue;
      const owner = await ownerOf(uid);
      if (!shares.take(owner)) continue;
      busy.add(uid);
      void continueSweep(uid)
        .catch((error: unknown) => deps.log.warn({ error: describeError(error) }, 'sweep not continued'))
        .finally(() => {
          busy.delete(uid);
          shares.give(owner);
        });
    }
  };
}

/** By role id. */
type Revocations = ReadonlyMap<string, number>;

function sumOf(sweeps: readonly SweepFigures[]): Revocations {
  const sum = new Map<string, number>();
  for (const { revocations } of sweeps)
    for (const [id, count] of revocations) sum.set(id, (sum.get(id) ?? 0) + count);
  return sum;
}

/** Whether the revocations of a sweep may be decided: with the last one that waits for its second
 * check, or without those that cannot be read for long. */
export const areLooksOver = (
  { graceSeconds }: Watch,
  sweep: number,
  { hasPending }: SweepFigures,
  nowMs: number,
): boolean => !hasPending || nowMs > sweep + SWEEP_MS_MAX + graceSeconds * 1_000 + LOOK_MS_MAX;

/** Whether a sweep had no time to ask members whom it must not leave to the next scheduled one. */
const isCutShort = ({ kind, toAsk }: Sweep): boolean => kind !== 'schedule' && toAsk.length > 0;

/** Whether a sweep checks by the rule set, under the block tag of the watch. */
export const isSweepOf = (sweep: Pick<Sweep, 'rules'> | undefined, watch: Watch, ruleSet: RuleSet): boolean =>
  sweep?.rules === rulesStampOf(ruleSet, watch);

/** Whether the watch has other rules, or another block tag, than the sweep; a rule set that is not
 * found says nothing. */
const isOutdated = (sweep: Sweep, watch: Watch, ruleSet: RuleSet | undefined): boolean =>
  ruleSet !== undefined && !isSweepOf(sweep, watch, ruleSet);

/** Begins a sweep; false if one is running. `sweep`: of a settlement, the sweep that it settles. */
export async function beginSweep(
  { sweeps, members, now }: Pick<Dependencies, 'sweeps' | 'members' | 'now'>,
  watch: Watch,
  ruleSet: RuleSet,
  kind: SweepKind,
  sweep = now(),
): Promise<boolean> {
  const uid = watchUid(watch);
  const { holders } = await members.figures(uid);
  const rules = rulesStampOf(ruleSet, watch);
  return sweeps.begin({ uid, sweep, kind, rules, holders }, nextSweepAt(uid, watch.everySeconds, sweep));
}
