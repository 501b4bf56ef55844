import { LRUCache } from 'lru-cache';
import { watchOfUid } from '#shared/contracts/watches/watch.ts';
import type { Owner } from '#shared/fairness/fair-shares.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';

const REMEMBERED_MAX = 10_000;

/** Tells who takes turns for a watch. The account of a client app never changes, so it is
 * remembered: thousands of watches of an app cost one read. A watch that is gone is its app's. */
export function makeOwnerOf({ readByUid }: Pick<Watches, 'readByUid'>): (uid: string) => Promise<Owner> {
  const accounts = new LRUCache<string, string>({ max: REMEMBERED_MAX });
  return async (uid) => {
    const { clientId } = watchOfUid(uid);
    const accountId = accounts.get(clientId) ?? (await readByUid(uid))?.accountId;
    if (accountId === undefined) return clientId;
    accounts.set(clientId, accountId);
    return { accountId, clientId };
  };
}
