import { type Watch, watchUid } from '#shared/contracts/watch.ts';
import type { WatchMembers } from '#shared/redis/watch-members.ts';
import type { PublishChanges } from './publish-changes.ts';

/** Members that leave at a time, with one round of the watches; fewer if they are large. */
const COUNT_MAX = 1_000;
/** Members removed by one command to Redis; a bound, so that other commands do not wait long. */
const CHUNK = 128;

type Dependencies = {
  readonly members: Pick<WatchMembers, 'page' | 'write'>;
  readonly publishMember: PublishChanges['publishMember'];
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Removes members of a watch that was deleted, some at a time. */
export type RemoveMembers = (watch: Watch) => Promise<void>;

export function makeRemoveMembers({ members, publishMember, now }: Dependencies): RemoveMembers {
  return async function removeMembers(watch) {
    const { members: found } = await members.page(watchUid(watch), { countMax: COUNT_MAX });
    for (let at = 0; at < found.length; at += CHUNK)
      await Promise.all(
        found.slice(at, at + CHUNK).map(async ({ event: _, ...member }) => {
          const nowMs = now();
          const removedAt = new Date(nowMs).toISOString();
          const after = { ...member, version: Math.max(nowMs, member.version + 1), roles: [], removedAt };
          if (await members.write(member, after, nowMs)) await publishMember(undefined, after);
        }),
      );
  };
}
