import { type ChainTransferred, watchUid } from '#shared/contracts/watch.ts';
import type { RuleSets } from '#shared/redis/rule-sets.ts';
import type { WatchSweeps } from '#shared/redis/watch-sweeps.ts';
import type { Watches } from '#shared/redis/watches.ts';
import { isAbout } from './handle-transfer.ts';

type Dependencies = {
  readonly watches: Pick<Watches, 'inPartition'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly sweeps: Pick<WatchSweeps, 'setNextAfterGap'>;
  readonly partitions: readonly number[];
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

type Missed = Pick<ChainTransferred, 'chainId' | 'contractAddress' | 'blockTag'>;

/**
 * If transfers of a contract may have been missed, makes a sweep of every watch that follows the contract due. A sweep
 * costs the client quota, and an attacker can repeatedly send a contract more transfers than can be followed, so such
 * sweeps of a watch are at least as far apart as its scheduled ones.
 */
export const makeSweepFollowers =
  ({ watches, ruleSets, sweeps, partitions, now }: Dependencies) =>
  async (missed: Missed): Promise<void> => {
    for (const partition of partitions)
      for (const watch of await watches.inPartition(partition)) {
        if (watch.deletedAt !== undefined || watch.paused) continue;
        const ruleSet = await ruleSets.read(watch.clientId, watch.ruleSet);
        if (ruleSet && isAbout(ruleSet, watch, missed))
          await sweeps.setNextAfterGap(watchUid(watch), now(), watch.everySeconds * 1_000);
      }
  };
