import { Account } from '#shared/contracts/client-app.ts';
import type { Redis } from './connect.ts';
import { makeVersionedDocuments, type VersionedDocuments } from './versioned-documents.ts';
import type { ViewAccess } from './view.ts';

/** The view of the accounts. */
export type Accounts = {
  /** E-mail addresses are compared without regard to case. */
  readonly findByEmail: (email: string) => Promise<Account | undefined>;
  /** Deleted ones included: their document stays as a tombstone. */
  readonly read: (accountId: string) => Promise<Account | undefined>;
  readonly lease: VersionedDocuments<Account>['lease'];
  readonly project: (account: Account, access?: ViewAccess) => Promise<boolean>;
  /** All that are not deleted, by e-mail address. */
  readonly list: () => Promise<Account[]>;
};

/**
 * @example
 * const account = await makeAccounts(redis).findByEmail('dev@example.com');
 */
export function makeAccounts(redis: Redis): Accounts {
  const { read, find, lease, project, list } = makeVersionedDocuments(redis, {
    key: 'accounts:2',
    parse: (json) => Account.parse(json),
    idOf: ({ accountId }) => accountId,
    // A deleted account leaves its entry to whoever signs up with the address next.
    indexOf: ({ email, deletedAt }) => (deletedAt === undefined ? [email.toLowerCase()] : []),
  });
  return {
    read,
    lease,
    project,
    async findByEmail(email) {
      const found = await find(email.toLowerCase());
      return found?.deletedAt === undefined ? found : undefined;
    },
    list: async () =>
      (await list())
        .filter(({ deletedAt }) => deletedAt === undefined)
        .sort((a, b) => a.email.localeCompare(b.email)),
  };
}
