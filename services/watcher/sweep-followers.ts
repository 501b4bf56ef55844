import { type ChainTransferred, watchUid } from '#shared/contracts/watch.ts';
import type { RuleSets } from '#shared/redis/rule-sets.ts';
import type { WatchSweeps } from '#shared/redis/watch-sweeps.ts';
import type { Watches } from '#shared/redis/watches.ts';
import { isAbout } from './handle-transfer.ts';

type Dependencies = {
  readonly watches: Pick<Watches, 'inPartition'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly sweeps: Pick<WatchSweeps, 'setNext'>;
  readonly partitions: readonly number[];
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

type Missed = Pick<ChainTransferred, 'chainId' | 'contractAddress' | 'blockTag'>;

/** Makes the sweeps due of every watch that follows a contract of which transfers may have been missed. */
export const makeSweepFollowers =
  ({ watches, ruleSets, sweeps, partitions, now }: Dependencies) =>
  async (missed: Missed): Promise<void> => {
    for (const partition of partitions)
      for (const watch of await watches.inPartition(partition)) {
        if (watch.deletedAt !== undefined || watch.paused) continue;
        const ruleSet = await ruleSets.read(watch.clientId, watch.ruleSet);
        if (ruleSet && isAbout(ruleSet, watch, missed)) await sweeps.setNext(watchUid(watch), now());
      }
  };
