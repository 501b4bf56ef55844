import { Account } from '#shared/contracts/apps/client-app.ts';
import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { keysOf, liveOf, makeVersionedDocuments } from '../documents/versioned-documents.ts';

/** Announces a changed account; the message is its id. */
export const ACCOUNT_CHANGED = 'account:changed';
export const ACCOUNTS_KEY = 'accounts';
/** By its id, the limits that an account gives its apps (`AppLimits`). */
export const ACCOUNT_SUMMARIES_KEY = keysOf(ACCOUNTS_KEY).summaries;

export function makeAccounts(redis: Redis) {
  const { read, find, lease, project, eraseEnded, list, scan } = makeVersionedDocuments(redis, {
    key: ACCOUNTS_KEY,
    parse: (json) => Account.parse(json),
    idOf: ({ accountId }) => accountId,
    indexOf: ({ accountId, email, deletedAt }): Record<string, string> =>
      deletedAt === undefined ? { [email.toLowerCase()]: accountId } : {},
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
    /** E-mail addresses are compared without regard to case. */
    findByEmail: async (email: string): Promise<Account | undefined> =>
      liveOf(await find(email.toLowerCase())),
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
