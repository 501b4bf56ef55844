import { type Watch, type WatchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { setDueTime } from './watches.ts';

/** By chain id, when a check of the watch read it last, epoch ms; 0: none has. */
const readKey = (uid: string): string => `wm-chain-read:${uid}`;
/** The members that owe a check which could not read the chain, by since when they owe it. */
const unreadKey = (uid: string, chainId: string | number): string => `wm-chain-unread:${uid}:${chainId}`;
/** Entries that are compared with their members at a time. */
const COMPARED_MAX = 100;

type ChainNote = {
  /** By chain id, when it was read, epoch ms. */
  readonly read: ReadonlyMap<string, number>;
  readonly members: readonly (Pick<WatchMember, 'memberId' | 'owed'> & {
    readonly unreadChains: readonly string[];
  })[];
};

/** How a chain is for a watch; times in epoch ms. */
export type ChainSight = {
  readonly readAt: number | undefined;
  /** Since when a member has been owed a check that could not read it. */
  readonly owedSince: number | undefined;
};

/**
 * Which chains the checks of a watch could read, and who is owed a check for want of it.
 *
 * @example
 * await makeWatchChains(redis).sight(uid, 1, async () => true); // { readAt: 1795000000000, owedSince: undefined }
 */
export function makeWatchChains(redis: Redis) {
  return {
    /** Notes an answer, after its events were published. */
    note: (watch: Watch, { read, members }: ChainNote, nowMs: number): Promise<void> =>
      inStore(async () => {
        const uid = watchUid(watch);
        for (const [chainId, atMs] of read) {
          await redis.hset(readKey(uid), chainId, atMs);
          const ids = members.filter(({ unreadChains }) => !unreadChains.includes(chainId));
          const key = unreadKey(uid, chainId);
          const count = ids.length > 0 ? await redis.zrem(key, ...ids.map(({ memberId }) => memberId)) : 0;
          if (count > 0 && (await redis.exists(key)) === 0) await setDueTime(redis, uid, nowMs);
        }
        for (const chainId of new Set(members.flatMap(({ unreadChains }) => unreadChains))) {
          const scored = members
            .filter(({ unreadChains }) => unreadChains.includes(chainId))
            .flatMap(({ memberId, owed }) => [owed ? Date.parse(owed.since) : nowMs, memberId]);
          await redis.zadd(unreadKey(uid, chainId), ...scored);
          await redis.hsetnx(readKey(uid), chainId, 0);
          await setDueTime(redis, uid, nowMs + watch.stalledAfterSeconds * 1_000);
        }
      }),
    /**
     * How a chain is for a watch.
     *
     * @param isOwed whether a member still owes a check of the chain: others are forgotten
     */
    sight: (
      uid: string,
      chainId: number,
      areOwed: (memberIds: readonly string[]) => Promise<readonly boolean[]>,
    ): Promise<ChainSight> =>
      inStore(async () => {
        const key = unreadKey(uid, chainId);
        const readAt = await redis.hget(readKey(uid), String(chainId));
        const of = (owedSince: number | undefined) => ({ readAt: Number(readAt) || undefined, owedSince });
        for (;;) {
          const flat = await redis.zrange(key, '0', String(COMPARED_MAX - 1), 'WITHSCORES');
          const ids = flat.filter((_, index) => index % 2 === 0);
          if (ids.length === 0) return of(undefined);
          const owed = await areOwed(ids);
          const first = owed.indexOf(true);
          const gone = ids.slice(0, first < 0 ? ids.length : first);
          if (gone.length > 0) await redis.zrem(key, ...gone);
          if (first >= 0) return of(Number(flat[2 * first + 1]));
        }
      }),
    forget: (uid: string): Promise<void> =>
      inStore(async () => {
        const chainIds = await redis.hkeys(readKey(uid));
        await redis.unlink(readKey(uid), ...chainIds.map((chainId) => unreadKey(uid, chainId)));
      }),
  };
}
