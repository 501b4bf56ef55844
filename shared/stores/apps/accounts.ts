import { Account } from '#shared/contracts/apps/client-app.ts';
import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { keysOf, liveOf, makeVersionedDocuments } from '../documents/versioned-documents.ts';

/** Announces a changed account; the message is its id. */
export const ACCOUNT_CHANGED = 'account:changed';
export const ACCOUNTS_KEY = 'accounts';
/** By its id, the limits that an account gives its apps (`AppLimits`). */
export const ACCOUNT_SUMMARIES_KEY = keysOf(ACCOUNTS_KEY).summaries;

/** An address as it is compared: the case of its ASCII letters does not count. Other letters stay: the
 * lower case of a Kelvin sign is a k, and the two are different mailboxes. */
export const foldAddress = (email: string): string =>
  email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

export function makeAccounts(redis: Redis) {
  const { read, find, lease, project, eraseEnded, list, scan } = makeVersionedDocuments(redis, {
    key: ACCOUNTS_KEY,
    parse: (json) => Account.parse(json),
    idOf: ({ accountId }) => accountId,
    indexOf: ({ accountId, email, deletedAt }): Record<string, string> =>
      deletedAt === undefined ? { [foldAddress(email)]: accountId } : {},
    summaryOf: (account) => JSON.stringify(appLimitsOf(account)),
    channel: ACCOUNT_CHANGED,
  });
  return {
    /** Deleted ones included, until they are erased. */
    read,
    lease,
    /** Announces the change, since the permissions of apps follow from their account. */
    project,
    /** A step through all accounts, deleted ones included. */
    scan,
    findByEmail: async (email: string): Promise<Account | undefined> =>
      liveOf(await find(foldAddress(email))),
    /** Erases accounts that were deleted until then, from view and topic; how many they were. */
    eraseEnded,
    /** All that are not deleted, by e-mail address. */
    list: async (): Promise<Account[]> =>
      (await list(liveOf))
        .filter((account) => account !== undefined)
        .sort((a, b) => a.email.localeCompare(b.email)),
  };
}

export type Accounts = ReturnType<typeof makeAccounts>;
