import { contractsUpTo, type RuleSet } from '#shared/contracts/rule-set.ts';
import { type Watch, watchUid } from '#shared/contracts/watch.ts';
import type { FollowedContracts } from '#shared/redis/followed-contracts.ts';

/** The contracts to follow are written again this often: Redis may have lost them. */
const AGAIN_MS = 30_000;

export type FollowContractsDependencies = {
  readonly followed: Pick<FollowedContracts, 'follow'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Writes to Redis which contracts are followed for a watch. */
export function makeFollowContracts({ followed, now }: FollowContractsDependencies) {
  const written = new Map<string, { readonly atMs: number; readonly contracts: string }>();
  return {
    async follow(watch: Watch, ruleSet: RuleSet): Promise<void> {
      const uid = watchUid(watch);
      const isFollowing = watch.follow && !watch.paused;
      const contracts = isFollowing ? contractsUpTo(ruleSet, watch.blockTag) : [];
      const json = JSON.stringify(contracts);
      const last = written.get(uid);
      if (last?.contracts === json && now() - last.atMs < AGAIN_MS) return;
      await followed.follow(uid, contracts);
      written.set(uid, { atMs: now(), contracts: json });
    },
    async unfollow(watch: Watch): Promise<void> {
      const uid = watchUid(watch);
      written.delete(uid);
      await followed.follow(uid, []);
    },
  };
}
