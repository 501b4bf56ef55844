import type { ChainTransferred } from '#shared/contracts/watches/chain-transferred.ts';
import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import type { FollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import type { WatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';

type Dependencies = {
  readonly watches: Pick<Watches, 'inPartition'>;
  readonly followed: Pick<FollowedContracts, 'isFollowedBy'>;
  readonly sweepSoon: SweepSoon;
  readonly partitions: readonly number[];
};

/** Makes a sweep of a watch due. */
type SweepSoon = (watch: Watch) => Promise<void>;

type Missed = Pick<ChainTransferred, 'chainId' | 'contractAddress' | 'blockTag'>;

/**
 * A sweep costs the client quota, and an attacker can repeatedly send a contract more transfers
 * than can be followed. So the sweeps of a watch that transfers cause are at least as far apart as
 * its scheduled ones.
 */
export const makeSweepSoon =
  (
    sweeps: Pick<WatchSweeps, 'setNextAfterGap'>,
    followed: Pick<FollowedContracts, 'noteMissed'>,
    now: () => number,
  ): SweepSoon =>
  async (watch) => {
    const uid = watchUid(watch);
    await followed.noteMissed(uid, now());
    await sweeps.setNextAfterGap(uid, now(), watch.everySeconds * 1_000);
  };

/**
 * If transfers of a contract may have been missed, makes a sweep of every watch that follows the
 * contract due. A reader that fell behind tells this of each of its contracts, so the rule sets of
 * all watches are not read for it.
 */
export const makeSweepFollowers =
  ({ watches, followed, sweepSoon, partitions }: Dependencies) =>
  async (missed: Missed): Promise<void> => {
    for (const partition of partitions) {
      const active = (await watches.inPartition(partition)).filter(
        ({ deletedAt, paused, follow, blockTag }) =>
          deletedAt === undefined && !paused && follow && blockTag === missed.blockTag,
      );
      const areFollowers = await Promise.all(
        active.map((watch) => followed.isFollowedBy(watchUid(watch), missed)),
      );
      for (const [index, watch] of active.entries()) if (areFollowers[index]) await sweepSoon(watch);
    }
  };
