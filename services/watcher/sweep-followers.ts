import { type ChainTransferred, type Watch, watchUid } from '#shared/contracts/watch.ts';
import type { RuleSets } from '#shared/redis/rule-sets.ts';
import type { WatchSweeps } from '#shared/redis/watch-sweeps.ts';
import type { Watches } from '#shared/redis/watches.ts';
import { isAbout } from './handle-transfer.ts';

type Dependencies = {
  readonly watches: Pick<Watches, 'inPartition'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly sweepSoon: SweepSoon;
  readonly partitions: readonly number[];
};

/** Makes a sweep of a watch due. */
type SweepSoon = (watch: Watch) => Promise<void>;

type Missed = Pick<ChainTransferred, 'chainId' | 'contractAddress' | 'blockTag'>;

/**
 * A sweep costs the client quota, and an attacker can repeatedly send a contract more transfers than can be followed. So
 * the sweeps of a watch that transfers cause are at least as far apart as its scheduled ones.
 */
export const makeSweepSoon =
  (sweeps: Pick<WatchSweeps, 'setNextAfterGap'>, now: () => number): SweepSoon =>
  (watch) =>
    sweeps.setNextAfterGap(watchUid(watch), now(), watch.everySeconds * 1_000);

/** If transfers of a contract may have been missed, makes a sweep of every watch that follows the contract due. */
export const makeSweepFollowers =
  ({ watches, ruleSets, sweepSoon, partitions }: Dependencies) =>
  async (missed: Missed): Promise<void> => {
    for (const partition of partitions)
      for (const watch of await watches.inPartition(partition)) {
        if (watch.deletedAt !== undefined || watch.paused) continue;
        const ruleSet = await ruleSets.read(watch.clientId, watch.ruleSet);
        if (ruleSet && isAbout(ruleSet, watch, missed)) await sweepSoon(watch);
      }
  };
