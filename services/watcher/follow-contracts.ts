import { contractsUpTo, type RuleSet } from '#shared/contracts/rule-set.ts';
import { type Watch, watchUid } from '#shared/contracts/watch.ts';
import type { FollowedContracts } from '#shared/redis/followed-contracts.ts';

export type FollowContractsDependencies = { readonly followed: Pick<FollowedContracts, 'follow'> };

/** Writes to Redis which contracts are followed for a watch. */
export const makeFollowContracts = ({ followed }: FollowContractsDependencies) => ({
  /** Each time the watch is processed, because Redis may have lost them. */
  async follow(watch: Watch, ruleSet: RuleSet): Promise<void> {
    const isFollowing = watch.follow && !watch.paused;
    await followed.follow(watchUid(watch), isFollowing ? contractsUpTo(ruleSet, watch.blockTag) : []);
  },
  async unfollow(watch: Watch): Promise<void> {
    await followed.follow(watchUid(watch), []);
  },
});
