import type { RuleSet } from '#shared/contracts/rules/rule-set.ts';
import {
  type HeldRole,
  partitionOfWatch,
  type Watch,
  type WatchCommand,
  watchEvaluated,
  watchOfUid,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import { describeError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { RuleSets } from '#shared/stores/rules/rule-sets.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import type { Sweep, WatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { countHeld, exceedsShare } from '../domain/exceeds-share.ts';
import { checkedRules } from '../domain/judge-age.ts';
import { nextSweepAt } from '../domain/next-sweep-at.ts';
import type { OpenParts } from '../members/open-parts.ts';
import type { RequestChecks } from '../members/request-checks.ts';

/** A sweep ends after this time, with or without its last answers. */
export const SWEEP_MS_MAX = 15 * 60_000;
/** Sweeps of a client app that a process continues at once: each holds its rules, up to 250 KB as
 * JSON, in memory. */
const SWEEPS_PER_APP_MAX = 16;
/** A settlement that was not carried out is published again. */
const SETTLE_AGAIN_MS = 60_000;

type Dependencies = {
  readonly watches: Pick<Watches, 'readByUid'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly members: Pick<WatchMembers, 'scan' | 'figures' | 'countRevoked'>;
  readonly sweeps: WatchSweeps;
  readonly requestChecks: RequestChecks;
  readonly openParts: Pick<OpenParts, 'take'>;
  /** Tells the client which roles are held from now on, unless it has released them since. */
  readonly announceHeld: (
    watch: Watch,
    roles: readonly Omit<HeldRole, 'heldAt'>[],
    sinceMs: number,
  ) => Promise<void>;
  /** Notes that the sweep has ended. */
  readonly noteSwept: (watch: Watch, sweep: number) => Promise<void>;
  readonly publish: KafkaConnection['publish'];
  readonly isOwned: (partition: number) => boolean;
  readonly partsMax: number;
  /** Waits before the number of parts without results is checked again. */
  readonly pace: () => Promise<unknown>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
  readonly log: Logger;
};

/** Continues the running sweeps: requests the checks of the own partitions, and ends the sweeps of
 * the own watches. */
export function makeRunSweeps(deps: Dependencies) {
  /** Partitions of sweeps for which this process is asking. */
  const asking = new Set<string>();
  /** By watch, the sweep that was settled last and when, epoch ms. */
  const settled = new Map<string, { readonly sweep: number; readonly atMs: number }>();

  const isTooLong = (sweep: number) => deps.now() - sweep > SWEEP_MS_MAX;
  const ruleSetOf = (watch: Watch) => deps.ruleSets.read(watch.clientId, watch.ruleSet);

  const ask = async (watch: Watch, ruleSet: RuleSet, begun: Sweep, partition: number) => {
    const { uid, sweep, cause } = begun;
    const beforePart = async (requestId: string): Promise<boolean> => {
      for (;;) {
        const state = await deps.sweeps.read(uid);
        if (state?.sweep !== sweep || state.hold !== undefined || isTooLong(sweep)) return false;
        const current = await deps.watches.readByUid(uid);
        if (current && (current.paused || isOutdated(begun, current, await ruleSetOf(current)))) return false;
        const isFree =
          state.partCount < deps.partsMax && (await deps.openParts.take(watch.clientId, requestId, true));
        if (isFree) break;
        await deps.pace();
      }
      await deps.sweeps.addPart(uid, sweep, requestId);
      return true;
    };
    for await (const members of deps.members.scan(uid, partition))
      if (members.length > 0) {
        const unrequested = await deps.requestChecks({
          watch,
          ruleSet,
          members,
          cause,
          sweep,
          isCharged: true,
          beforePart,
          afterLostPart: (requestId) => deps.sweeps.finish(uid, sweep, requestId),
        });
        if (unrequested.length > 0) return false;
        if (!deps.isOwned(partition)) return true;
      }
    await deps.sweeps.finish(uid, sweep, `ask/${partition}`);
    return true;
  };

  const requestAll = async (watch: Watch, ruleSet: RuleSet, state: Sweep): Promise<void> => {
    for (const partition of state.toAsk.filter(deps.isOwned)) {
      const name = `${state.uid}/${state.sweep}/${partition}`;
      if (asking.has(name)) continue;
      asking.add(name);
      try {
        if (!(await ask(watch, ruleSet, state, partition))) return;
      } finally {
        asking.delete(name);
      }
    }
  };

  /** Roles to hold: their revocations, together with the held ones and those sent in the last hour,
   * are too many. */
  const excessiveRoles = async (
    watch: Watch,
    { uid, sweep, holders, revocations }: Sweep,
  ): Promise<string[]> => {
    const { held } = await deps.members.figures(uid);
    const nowMs = deps.now();
    const excessive: string[] = [];
    for (const [id, found] of revocations) {
      if (found === 0) continue;
      const [sent, sentBefore] = await Promise.all([
        deps.members.countRevoked(uid, id, nowMs),
        deps.members.countRevoked(uid, id, nowMs, sweep),
      ]);
      const together = found + countHeld(watch, held, id) + sent;
      // Members that lost the role before the sweep are not among its holders.
      if (exceedsShare(watch.massRevocation, together, (holders.get(id) ?? 0) + sentBefore))
        excessive.push(id);
    }
    return excessive;
  };

  const conclude = async (watch: Watch, state: Sweep): Promise<void> => {
    const { uid, sweep, cause, holders, revocations } = state;
    const isOver = state.toAsk.length + state.partCount === 0 || isTooLong(sweep);
    if (state.hold === undefined && !isOver) return;
    const decided = state.hold ?? (await excessiveRoles(watch, state));
    const holdRoles = await deps.sweeps.decide(uid, sweep, decided);
    if (holdRoles === undefined) return;
    if (state.hold !== undefined && state.toSettle.length === 0) {
      settled.delete(uid);
      await deps.noteSwept(watch, sweep);
      await deps.sweeps.end(uid, sweep);
      return;
    }
    const last = settled.get(uid);
    if (last?.sweep === sweep && deps.now() - last.atMs < SETTLE_AGAIN_MS) return;
    const held = holdRoles.map((id) => ({
      id,
      holders: holders.get(id) ?? 0,
      revocations: revocations.get(id) ?? 0,
    }));
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
          cause,
          holdRoles,
        };
        return deps.publish(watchEvaluated, command);
      }),
    );
    settled.set(uid, { sweep, atMs: deps.now() });
    // After the commands, so that a release follows them in every partition. `updateHeld` repeats a
    // lost announcement.
    await deps.announceHeld(watch, held, sweep);
  };

  const continueSweep = async (uid: string): Promise<void> => {
    const state = await deps.sweeps.read(uid);
    const watch = await deps.watches.readByUid(uid);
    const isMine = deps.isOwned(partitionOfWatch(uid));
    if (watch === undefined) return isMine ? deps.sweeps.forget(uid) : undefined;
    // A watch that is resumed begins a new sweep.
    if (state === undefined || watch.paused) return isMine ? deps.sweeps.end(uid, state?.sweep) : undefined;
    if (state.hold === undefined) {
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

  /** By client app, the watches whose sweeps are being continued. */
  const busy = new Map<string, Set<string>>();
  return async function runSweeps(): Promise<void> {
    for (const uid of await deps.sweeps.running()) {
      const { clientId } = watchOfUid(uid);
      const ofApp = busy.get(clientId) ?? new Set();
      if (ofApp.has(uid) || ofApp.size >= SWEEPS_PER_APP_MAX) continue;
      busy.set(clientId, ofApp.add(uid));
      void continueSweep(uid)
        .catch((error: unknown) => deps.log.warn({ error: describeError(error) }, 'sweep not continued'))
        .finally(() => {
          ofApp.delete(uid);
          if (ofApp.size === 0) busy.delete(clientId);
        });
    }
  };
}

/** Whether a sweep checks by the rule set, under the block tag of the watch. */
export const isSweepOf = (sweep: Pick<Sweep, 'rules'> | undefined, watch: Watch, ruleSet: RuleSet): boolean =>
  sweep?.rules === checkedRules(ruleSet, watch);

/** Whether the watch has other rules, or another block tag, than the sweep; a rule set that is not
 * found says nothing. */
const isOutdated = (sweep: Sweep, watch: Watch, ruleSet: RuleSet | undefined): boolean =>
  ruleSet !== undefined && !isSweepOf(sweep, watch, ruleSet);

/** Begins a sweep; false if one is running. */
export async function beginSweep(
  {
    sweeps,
    members,
    now,
  }: {
    sweeps: Pick<WatchSweeps, 'begin'>;
    members: Pick<WatchMembers, 'figures'>;
    now: () => number;
  },
  watch: Watch,
  ruleSet: RuleSet,
  cause: 'schedule' | 'rule-set',
): Promise<boolean> {
  const uid = watchUid(watch);
  const { holders } = await members.figures(uid);
  const sweep = now();
  const rules = checkedRules(ruleSet, watch);
  return sweeps.begin({ uid, sweep, cause, rules, holders }, nextSweepAt(uid, watch.everySeconds, sweep));
}
