import { type contractsOf, contractsUpTo } from '#shared/contracts/rule-set.ts';
import { type Watch, watchUid } from '#shared/contracts/watch.ts';
import type { FollowedContracts } from '#shared/redis/followed-contracts.ts';
import type { RuleSets } from '#shared/redis/rule-sets.ts';
import type { WatchMembers } from '#shared/redis/watch-members.ts';

export type PresentWatchDependencies = {
  readonly members: Pick<WatchMembers, 'figures'>;
  readonly followed: Pick<FollowedContracts, 'states'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  /** Rule sets that are perhaps some seconds old: a page of watches may name 200 large ones. */
  readonly ruleSetCache?: Pick<RuleSets, 'read'>;
};

/** Makes the function that returns a watch as clients see it. */
export function makePresentWatch({ members, followed, ruleSets, ruleSetCache }: PresentWatchDependencies) {
  return async function presentWatch(watch: Watch): Promise<Record<string, unknown>> {
    const uid = watchUid(watch);
    const { blockTag } = watch;
    const ruleSet = await (ruleSetCache ?? ruleSets).read(watch.clientId, watch.ruleSet);
    const contracts = watch.follow && ruleSet ? contractsUpTo(ruleSet, blockTag) : [];
    const [figures, following] = await Promise.all([
      members.figures(uid),
      watch.paused ? contracts.map(whilePaused) : followed.states(uid, contracts),
    ]);
    const active = watch.held.length > 0 ? 'held' : 'active';
    return {
      watchId: watch.watchId,
      version: watch.settingsVersion,
      state: watch.paused ? 'paused' : active,
      ...(watch.paused ? { reason: watch.paused.reason } : {}),
      held: watch.held.map(({ id }) => id),
      members: figures.members,
      following,
      ruleSet: watch.ruleSet,
      callbackUrl: watch.callbackUrl,
      everySeconds: watch.everySeconds,
      follow: watch.follow,
      blockTag,
      quotaShare: watch.quotaShare,
      massRevocation: watch.massRevocation,
      createdAt: watch.createdAt,
      updatedAt: watch.updatedAt,
    };
  };
}

const whilePaused = ({ chainId, contractAddress }: ReturnType<typeof contractsOf>[number]) => ({
  chainId,
  contractAddress,
  state: 'sweeps-only',
  reason: 'The watch is paused.',
});
