import { type Account, account, type ClientApp, clientApp } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Accounts } from '#shared/stores/apps/accounts.ts';
import type { ClientApps } from '#shared/stores/apps/client-apps.ts';
import type { AuditTrail } from '#shared/stores/audit/audit-trail.ts';
import { makeRecordAudit } from '#shared/stores/audit/record-audit.ts';
import { makeWriteDocument } from '#shared/stores/documents/write-document.ts';

type Dependencies = {
  readonly accounts: Pick<Accounts, 'read' | 'lease' | 'project'>;
  readonly clientApps: Pick<ClientApps, 'read' | 'lease' | 'project'>;
  readonly auditTrail: Pick<AuditTrail, 'record'>;
  readonly publish: KafkaConnection['publish'];
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/**
 * The audit entry of a write: action `key-revoked` with the key's id as its subject. The actor is an e-mail address of
 * the portal, or `operator` for the admin command.
 */
type AuditEntry = { readonly actor: string; readonly action: string; readonly subject: string };

export type AuditedWrites = ReturnType<typeof makeAuditedWrites>;

/** Writes to accounts and client apps. Each write that changed something is recorded in the audit log. */
export function makeAuditedWrites(deps: Dependencies) {
  const write = makeWriteDocument(deps);
  const { accounts, clientApps } = deps;
  const appStore = { ...clientApps, topic: clientApp };
  const accountStore = { ...accounts, topic: account };
  const record = makeRecordAudit(deps);

  return {
    /** Records an entry. Repeating an entry with the same `at` adds nothing. */
    record,
    /** @throws ServiceError `not-found` if the app does not exist and `change` makes none */
    async app(
      clientId: string,
      auditEntry: AuditEntry,
      change: (current: ClientApp | undefined) => ClientApp | undefined,
    ): Promise<ClientApp> {
      const written = await write(appStore, clientId, change);
      if (!written) throw new ServiceError('not-found', `there is no client app ${clientId}`);
      const { document, changed } = written;
      if (changed) await record({ accountId: document.accountId, clientId, ...auditEntry });
      return document;
    },
    /** @throws ServiceError `not-found` if the account does not exist and `change` makes none */
    async account(
      accountId: string,
      auditEntry: AuditEntry,
      change: (current: Account | undefined) => Account | undefined,
    ): Promise<Account> {
      const written = await write(accountStore, accountId, change);
      if (!written) throw new ServiceError('not-found', 'there is no such account');
      if (written.changed) await record({ accountId, ...auditEntry });
      return written.document;
    },
  };
}
