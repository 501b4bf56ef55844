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
 * Whether a watch is about the contract of a transfer. Which contracts it follows is asked first,
 * because a rule set is large. After a loss of Redis the rule set decides, until the watch is
 * processed again.
 */
export async function isAbout(
  { followed, ruleSets }: Stores,
  watch: Watch,
  transfer: Missed,
): Promise<boolean> {
  const isFollowed = await followed.isFollowedBy(watchUid(watch), transfer);
  if (isFollowed !== undefined) return isFollowed;
  const ruleSet = await ruleSets.read(watch.clientId, watch.ruleSet);
  const { chainId, contractAddress, blockTag } = transfer;
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
    const areFollowers = await Promise.all(active.map((watch) => isAbout(deps, watch, missed)));
    for (const [index, watch] of active.entries()) if (areFollowers[index]) await deps.sweepSoon(watch);
  }
}
