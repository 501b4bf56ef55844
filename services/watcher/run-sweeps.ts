import type { RuleSet } from '#shared/contracts/rule-set.ts';
import {
  type HeldRole,
  partitionOfWatch,
  type Watch,
  type WatchCommand,
  watchEvaluated,
  watchUid,
} from '#shared/contracts/watch.ts';
import { describeError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { RuleSets } from '#shared/redis/rule-sets.ts';
import type { WatchMembers } from '#shared/redis/watch-members.ts';
import type { Sweep, WatchSweeps } from '#shared/redis/watch-sweeps.ts';
import type { Watches } from '#shared/redis/watches.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { type AskChecks, rulesNameOf } from './ask-checks.ts';
import { exceedsShare } from './domain/exceeds-share.ts';

/** A sweep ends after this time, with or without its last answers. */
export const SWEEP_MS_MAX = 15 * 60_000;
/** A settlement that was not carried out is published again. */
const SETTLE_AGAIN_MS = 60_000;

type Dependencies = {
  readonly watches: Pick<Watches, 'readByUid'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly members: Pick<WatchMembers, 'scan'>;
  readonly sweeps: WatchSweeps;
  readonly askChecks: AskChecks;
  /** Tells the client which roles are held from now on. */
  readonly announceHeld: (watch: Watch, roles: readonly Omit<HeldRole, 'heldAt'>[]) => Promise<void>;
  readonly publish: KafkaConnection['publish'];
  readonly isOwned: (partition: number) => boolean;
  readonly partsMax: number;
  /** Resolves when it is time to see again whether fewer parts wait for their results. */
  readonly pace: () => Promise<unknown>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
  readonly log: Logger;
};

/** Continues the running sweeps: requests the checks of the own partitions, and ends the sweeps of the own watches. */
export function makeRunSweeps(deps: Dependencies) {
  /** Partitions of sweeps for which this process is asking. */
  const asking = new Set<string>();
  const settledAt = new Map<string, number>();

  const isTooLong = (sweep: number) => deps.now() - sweep > SWEEP_MS_MAX;
  const isPaused = async (uid: string) => (await deps.watches.readByUid(uid))?.paused !== undefined;

  const ask = async (watch: Watch, ruleSet: RuleSet, { uid, sweep, cause }: Sweep, partition: number) => {
    const beforePart = async (requestId: string): Promise<boolean> => {
      for (;;) {
        const state = await deps.sweeps.read(uid);
        if (state?.sweep !== sweep || state.hold !== undefined || isTooLong(sweep) || (await isPaused(uid)))
          return false;
        if (state.partCount < deps.partsMax) break;
        await deps.pace();
      }
      await deps.sweeps.addPart(uid, sweep, requestId);
      return true;
    };
    for await (const members of deps.members.scan(uid, partition))
      if (members.length > 0) {
        const isAllowed = await deps.askChecks({
          watch,
          ruleSet,
          members,
          cause,
          sweep,
          isCharged: true,
          beforePart,
          afterLostPart: (requestId) => deps.sweeps.finish(uid, sweep, requestId),
        });
        if (!isAllowed || !deps.isOwned(partition)) return isAllowed;
      }
    await deps.sweeps.finish(uid, sweep, `ask/${partition}`);
    return true;
  };

  const askAll = async (watch: Watch, ruleSet: RuleSet, state: Sweep): Promise<void> => {
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

  const conclude = async (watch: Watch, state: Sweep): Promise<void> => {
    const { uid, sweep, cause, holders, revocations } = state;
    const isOver = state.toAsk.length + state.partCount === 0 || isTooLong(sweep);
    if (state.hold === undefined && !isOver) return;
    const excessive = [...revocations]
      .filter(([id, count]) => exceedsShare(watch.massRevocation, count, holders.get(id) ?? 0))
      .map(([id]) => id);
    const holdRoles = await deps.sweeps.decide(uid, sweep, excessive);
    if (holdRoles === undefined) return;
    if (state.hold !== undefined && state.toSettle.length === 0) {
      settledAt.delete(uid);
      await deps.sweeps.end(uid, sweep);
      return;
    }
    if (deps.now() - (settledAt.get(uid) ?? 0) < SETTLE_AGAIN_MS) return;
    const held = holdRoles.map((id) => ({
      id,
      holders: holders.get(id) ?? 0,
      revocations: revocations.get(id) ?? 0,
    }));
    await deps.announceHeld(watch, held);
    const at = new Date(deps.now()).toISOString();
    const { toSettle = [] } = (await deps.sweeps.read(uid)) ?? {};
    if (toSettle.length === 0) return;
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
    settledAt.set(uid, deps.now());
  };

  const carryOn = async (uid: string): Promise<void> => {
    const state = await deps.sweeps.read(uid);
    const watch = await deps.watches.readByUid(uid);
    const isMine = deps.isOwned(partitionOfWatch(uid));
    if (state === undefined || watch === undefined || watch.paused) {
      // A watch that was paused begins a new sweep when it is resumed.
      if (isMine) await deps.sweeps.forget(uid);
      return;
    }
    if (state.hold === undefined) {
      const ruleSet = await deps.ruleSets.read(watch.clientId, watch.ruleSet);
      if (ruleSet) await askAll(watch, ruleSet, state);
    }
    const asked = await deps.sweeps.read(uid);
    if (isMine && asked) await conclude(watch, asked);
  };

  const busy = new Set<string>();
  return async function runSweeps(): Promise<void> {
    for (const uid of await deps.sweeps.running()) {
      if (busy.has(uid)) continue;
      busy.add(uid);
      void carryOn(uid)
        .catch((error: unknown) => deps.log.warn({ error: describeError(error) }, 'sweep not continued'))
        .finally(() => busy.delete(uid));
    }
  };
}

/** Begins a sweep; false if one is running. */
export async function beginSweep(
  {
    sweeps,
    members,
    now,
  }: { sweeps: WatchSweeps; members: Pick<WatchMembers, 'figures'>; now: () => number },
  watch: Watch,
  ruleSet: RuleSet,
  cause: 'schedule' | 'rule-set',
): Promise<boolean> {
  const uid = watchUid(watch);
  const { holders } = await members.figures(uid);
  return sweeps.begin({ uid, sweep: now(), cause, rules: rulesNameOf(ruleSet), holders });
}
