import { removedMember, type Watch, type WatchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import type { Dependencies } from '../dependencies.ts';

/** Members that leave at a time, with one round of the watches. */
const COUNT_MAX = 1_000;
/** Members removed by one command to Redis, fewer if they are large: a bound, so that other
 * commands do not wait long. */
const CHUNK = 128;
/** Pages of one round: other watches are processed after it. */
const PAGES_MAX = 16;
/** A watch whose deletion continues is processed again after this time. */
const CONTINUE_MS = 2_000;

export async function removeMembers(deps: Dependencies, watch: Watch): Promise<void> {
  const removeOne = async ({ event: _, ...member }: WatchMember): Promise<void> => {
    const nowMs = deps.now();
    const after = {
      ...removedMember(member, new Date(nowMs).toISOString()),
      version: Math.max(nowMs, member.version + 1),
    };
    if (await deps.members.write(member, after)) await deps.publishMember(undefined, after);
  };
  for (let count = 0, pages = 0; count < COUNT_MAX && pages < PAGES_MAX; pages++) {
    const { members: page } = await deps.members.page(watchUid(watch), { countMax: CHUNK });
    if (page.length === 0) return;
    await Promise.all(page.map(removeOne));
    count += page.length;
  }
}

/** Removes the data of a watch that was deleted, some members at a time. Returns whether no data is
 * left. */
export async function endWatch(deps: Dependencies, watch: Watch): Promise<boolean> {
  const uid = watchUid(watch);
  const { members } = await deps.members.figures(uid);
  if (members > 0) {
    await removeMembers(deps, watch);
    await deps.watches.setDue(uid, deps.now() + CONTINUE_MS);
    return false;
  }
  await deps.followed.forget(watch);
  await deps.sweeps.forget(uid);
  await deps.chains.forget(uid);
  await deps.members.forget(uid);
  return true;
}

/** Removes the data of a deleted watch with the same id. Returns whether no data is left. */
export async function endFormer(deps: Dependencies, { formerCreatedAt, ...watch }: Watch): Promise<boolean> {
  if (formerCreatedAt === undefined) return true;
  if (!(await endWatch(deps, { ...watch, createdAt: formerCreatedAt }))) return false;
  await deps.changeStored(watch, ({ formerCreatedAt: _, ...rest }) => rest);
  return true;
}

/** Deletes a watch whose app was deleted. */
export async function deleteWithApp(deps: Dependencies, watch: Watch): Promise<void> {
  await deps.change(watch, (current) => ({ ...current, deletedAt: new Date(deps.now()).toISOString() }));
}
