import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import type { ClientApps } from '#shared/stores/apps/client-apps.ts';
import type { FollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import type { WatchChains } from '#shared/stores/watches/watch-chains.ts';
import type { WatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import type { RemoveMembers } from '../members/remove-members.ts';
import type { ChangeWatch } from './change-watch.ts';

/** A watch whose deletion continues is processed again after this time. */
const CONTINUE_MS = 2_000;

export type EndWatchDependencies = {
  readonly watches: Pick<Watches, 'setDue'>;
  readonly clientApps: Pick<ClientApps, 'read'>;
  readonly members: Pick<WatchMembers, 'figures' | 'forget'>;
  readonly sweeps: Pick<WatchSweeps, 'forget'>;
  readonly followed: Pick<FollowedContracts, 'follow'>;
  readonly chains: Pick<WatchChains, 'forget'>;
  readonly removeMembers: RemoveMembers;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Removes the data of watches that were deleted. */
export function makeEndWatch(
  deps: EndWatchDependencies,
  { change, changeStored }: Pick<ChangeWatch, 'change' | 'changeStored'>,
) {
  /**
   * Removes the data of a watch that was deleted, some members at a time.
   *
   * @returns whether no data is left
   */
  const endWatch = async (watch: Watch): Promise<boolean> => {
    const uid = watchUid(watch);
    const { members } = await deps.members.figures(uid);
    if (members > 0) {
      await deps.removeMembers(watch);
      await deps.watches.setDue(uid, deps.now() + CONTINUE_MS);
      return false;
    }
    await deps.followed.follow(uid, []);
    await deps.sweeps.forget(uid);
    await deps.chains.forget(uid);
    await deps.members.forget(uid);
    return true;
  };

  return {
    endWatch,
    /**
     * Removes the data of a deleted watch with the same id.
     *
     * @returns whether no data is left
     */
    async endFormer({ formerCreatedAt, ...watch }: Watch): Promise<boolean> {
      if (formerCreatedAt === undefined) return true;
      if (!(await endWatch({ ...watch, createdAt: formerCreatedAt }))) return false;
      await changeStored(watch, ({ formerCreatedAt: _, ...rest }) => rest);
      return true;
    },
    /**
     * Deletes a watch if its app was deleted.
     *
     * @returns whether this call deleted the watch
     */
    async deleteWithApp(watch: Watch): Promise<boolean> {
      const app = await deps.clientApps.read(watch.clientId);
      if (app && app.deletedAt === undefined) return false;
      await change(watch, (current) => ({ ...current, deletedAt: new Date(deps.now()).toISOString() }));
      return true;
    },
  };
}
