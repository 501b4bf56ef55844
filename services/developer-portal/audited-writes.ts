import { type Audit, audit } from '#shared/contracts/audit.ts';
import { type Account, account, type ClientApp, clientApp } from '#shared/contracts/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Accounts } from '#shared/redis/accounts.ts';
import type { AuditTrail } from '#shared/redis/audit-trail.ts';
import type { ClientApps } from '#shared/redis/client-apps.ts';
import { makeWriteDocument } from './write-document.ts';

type Dependencies = {
  readonly accounts: Pick<Accounts, 'read' | 'lease' | 'project'>;
  readonly clientApps: Pick<ClientApps, 'read' | 'lease' | 'project'>;
  readonly auditTrail: Pick<AuditTrail, 'record'>;
  readonly publish: KafkaConnection['publish'];
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/**
 * What was done, in the words of the audit log: `key-revoked`, with the key's id as its subject. The actor is an
 * e-mail address of the portal, or `operator` for the operator's command.
 */
export type Deed = { readonly actor: string; readonly action: string; readonly subject: string };

export type AuditedWrites = ReturnType<typeof makeAuditedWrites>;

/** Writes to accounts and client apps. Each that changed something has a record in the audit log behind it. */
export function makeAuditedWrites(deps: Dependencies) {
  const write = makeWriteDocument(deps);
  const { accounts, clientApps } = deps;
  const appStore = { ...clientApps, topic: clientApp };
  const accountStore = { ...accounts, topic: account };
  const record = async (entry: Omit<Audit, 'at'> & Partial<Audit>) => {
    const dated = { at: new Date(deps.now()).toISOString(), ...entry };
    await deps.publish(audit, dated);
    await deps.auditTrail.record(dated);
  };

  return {
    /** One that is repeated with the same `at` is the same entry. */
    record,
    /** @throws ServiceError `not-found` where a change is asked of an app that does not exist */
    async app(
      clientId: string,
      deed: Deed,
      change: (current: ClientApp | undefined) => ClientApp | undefined,
    ): Promise<ClientApp> {
      const written = await write(appStore, clientId, change);
      if (!written) throw new ServiceError('not-found', `there is no client app ${clientId}`);
      const { document, changed } = written;
      if (changed) await record({ accountId: document.accountId, clientId, ...deed });
      return document;
    },
    /** @throws ServiceError `not-found` where a change is asked of an account that does not exist */
    async account(
      accountId: string,
      deed: Deed,
      change: (current: Account | undefined) => Account | undefined,
    ): Promise<Account> {
      const written = await write(accountStore, accountId, change);
      if (!written) throw new ServiceError('not-found', 'there is no such account');
      if (written.changed) await record({ accountId, ...deed });
      return written.document;
    },
  };
}
