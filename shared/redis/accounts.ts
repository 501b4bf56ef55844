import { Account } from '#shared/contracts/client-app.ts';
import type { Redis } from './connect.ts';
import { makeVersionedDocuments } from './versioned-documents.ts';
import type { ViewAccess } from './view.ts';

/** The view of the accounts. */
export type Accounts = {
  /** E-mail addresses are compared without regard to case. */
  readonly findByEmail: (email: string) => Promise<Account | undefined>;
  readonly read: (accountId: string) => Promise<Account | undefined>;
  readonly project: (account: Account, access?: ViewAccess) => Promise<boolean>;
};

/**
 * @example
 * const account = await makeAccounts(redis).findByEmail('dev@example.com');
 */
export function makeAccounts(redis: Redis): Accounts {
  const { read, find, project } = makeVersionedDocuments(redis, {
    key: 'accounts',
    parse: (json) => Account.parse(json),
    idOf: ({ accountId }) => accountId,
    indexOf: ({ email }) => [email.toLowerCase()],
  });
  return { read, project, findByEmail: (email) => find(email.toLowerCase()) };
}
