import { audit } from '#shared/contracts/audit.ts';
import { type Account, account, type ClientApp, clientApp } from '#shared/contracts/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Accounts } from '#shared/redis/accounts.ts';
import type { ClientApps } from '#shared/redis/client-apps.ts';
import type { WriteDocument } from './write-document.ts';

type Dependencies = {
  readonly accounts: Accounts;
  readonly clientApps: ClientApps;
  readonly write: WriteDocument;
  readonly publish: KafkaConnection['publish'];
  /** Who writes: an operator's command, or an account of the portal. */
  readonly actor: string;
  readonly now: () => number;
};

/** What was done, in the words of the audit log: `key-revoked`, with the key's id as its subject. */
export type Deed = { readonly action: string; readonly subject: string };

export type AuditedWrites = ReturnType<typeof makeAuditedWrites>;

/** Writes to accounts and client apps, each with a record in the audit log behind it. */
export function makeAuditedWrites(deps: Dependencies) {
  const { accounts, clientApps, write } = deps;
  const appStore = {
    topic: clientApp,
    read: clientApps.read,
    project: (app: ClientApp) => clientApps.project(app),
  };
  const accountStore = {
    topic: account,
    read: accounts.read,
    project: (document: Account) => accounts.project(document),
  };
  const record = (accountId: string, deed: Deed) =>
    deps.publish(audit, { accountId, actor: deps.actor, at: new Date(deps.now()).toISOString(), ...deed });

  return {
    /** @throws ServiceError `not-found` where a change is asked of an app that does not exist */
    async app(
      clientId: string,
      deed: Deed,
      change: (current: ClientApp | undefined) => ClientApp | undefined,
    ): Promise<ClientApp> {
      const written = await write(appStore, clientId, change);
      if (!written) throw new ServiceError('not-found', `there is no client app ${clientId}`);
      await record(written.accountId, deed);
      return written;
    },
    async account(
      accountId: string,
      deed: Deed,
      change: (current: Account | undefined) => Account | undefined,
    ): Promise<Account> {
      const written = await write(accountStore, accountId, change);
      if (!written) throw new ServiceError('not-found', 'there is no such account');
      await record(accountId, deed);
      return written;
    },
  };
}
