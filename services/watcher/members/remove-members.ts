import { type Watch, type WatchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import type { PublishChanges } from './publish-changes.ts';

/** Members that leave at a time, with one round of the watches. */
const COUNT_MAX = 1_000;
/** Members removed by one command to Redis, fewer if they are large: a bound, so that other
 * commands do not wait long. */
const CHUNK = 128;

/** Pages of one round: other watches are processed after it. */
const PAGES_MAX = 16;

type Dependencies = {
  readonly members: Pick<WatchMembers, 'page' | 'write'>;
  readonly publishMember: PublishChanges['publishMember'];
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Removes members of a watch that was deleted, some at a time. */
export type RemoveMembers = (watch: Watch) => Promise<void>;

export function makeRemoveMembers({ members, publishMember, now }: Dependencies): RemoveMembers {
  const removeOne = async ({ event: _, ...member }: WatchMember): Promise<void> => {
    const nowMs = now();
    const removedAt = new Date(nowMs).toISOString();
    const after = { ...member, version: Math.max(nowMs, member.version + 1), roles: [], removedAt };
    if (await members.write(member, after, nowMs)) await publishMember(undefined, after);
  };
  return async function removeMembers(watch) {
    const uid = watchUid(watch);
    for (let count = 0, pages = 0; count < COUNT_MAX && pages < PAGES_MAX; pages++) {
      const { members: page } = await members.page(uid, { countMax: CHUNK });
      if (page.length === 0) return;
      await Promise.all(page.map((member) => removeOne(member)));
      count += page.length;
    }
  };
}
