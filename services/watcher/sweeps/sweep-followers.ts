import { contractsOf } from '#shared/contracts/rules/rule-set.ts';
import type { ChainTransferred } from '#shared/contracts/watches/chain-transferred.ts';
import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import type { Stores } from '../stores.ts';

type Missed = Pick<ChainTransferred, 'chainId' | 'contractAddress' | 'blockTag'>;

/** So long a watch is new: its members are checked for the first time, and following may just have
 * begun. */
const NEW_MS = 60_000;

export const isNewWatch = ({ createdAt }: Pick<Watch, 'createdAt'>, nowMs: number): boolean =>
  nowMs - Date.parse(createdAt) < NEW_MS;

/** Makes a free sweep of a watch due, because transfers were missed or were too many: anyone can
 * cause that, so it is an hour after the last one for this reason at the earliest. */
export const makeSweepSoon =
  ({ sweeps, followed, now }: Stores) =>
  async (watch: Watch): Promise<void> => {
    const uid = watchUid(watch);
    await followed.noteMissed(uid, now());
    await sweeps.setNextAfterGap(uid, now());
  };

export type SweepSoon = ReturnType<typeof makeSweepSoon>;

/**
 * Whether a watch is about the contract of a transfer. After a loss of Redis its rule set decides,
 * until the watch is processed again. Otherwise none is read, because it is large.
 *
 * @param isFollowed whether it is followed for the watch, if that is known
 */
export async function isAbout(
  { ruleSets }: Pick<Stores, 'ruleSets'>,
  watch: Watch,
  { chainId, contractAddress, blockTag }: Missed,
  isFollowed: boolean | undefined,
): Promise<boolean> {
  if (isFollowed !== undefined) return isFollowed;
  const ruleSet = await ruleSets.read(watch.clientId, watch.ruleSet);
  return (
    watch.blockTag === blockTag &&
    ruleSet !== undefined &&
    contractsOf(ruleSet).some((each) => each.chainId === chainId && each.contractAddress === contractAddress)
  );
}

/**
 * If transfers of a contract may have been missed, makes a sweep of every watch that follows the
 * contract due. A reader that fell behind tells this of each of its contracts, so the rule sets of
 * all watches are not read for it.
 */
export async function sweepFollowers(
  deps: Stores & { readonly sweepSoon: SweepSoon },
  missed: Missed,
): Promise<void> {
  for (const partition of deps.partitions) {
    const active = (await deps.watches.inPartition(partition)).filter(
      (watch) =>
        watch.deletedAt === undefined &&
        !watch.paused &&
        watch.follow &&
        watch.blockTag === missed.blockTag &&
        !isNewWatch(watch, deps.now()),
    );
    const areFollowing = await Promise.all(
      active.map((watch) => deps.followed.isFollowedBy(watchUid(watch), missed)),
    );
    // One after the other: a rule set is large.
    for (const [index, watch] of active.entries())
      if (await isAbout(deps, watch, missed, areFollowing[index])) await deps.sweepSoon(watch);
  }
}
