import { LRUCache } from 'lru-cache';
import { watchOfUid } from '#shared/contracts/watches/watch.ts';
import type { Owner } from '#shared/fairness/fair-shares.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';

const REMEMBERED_MAX = 10_000;
/** Watches that are gone take their turns together, as one account. */
const GONE = '';

/** Tells who takes turns for a watch. The account of a client app never changes, so it is
 * remembered: thousands of watches of an app cost one read. */
export function makeOwnerOf({ readByUid }: Pick<Watches, 'readByUid'>): (uid: string) => Promise<Owner> {
  const accounts = new LRUCache<string, string>({ max: REMEMBERED_MAX });
  return async (uid) => {
    const { clientId } = watchOfUid(uid);
    const accountId = accounts.get(clientId) ?? (await readByUid(uid))?.accountId;
    if (accountId === undefined) return GONE;
    accounts.set(clientId, accountId);
    return { accountId, clientId };
  };
}
