import { type Account, account, type ClientApp, clientApp } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { makeAccountBytes } from '#shared/fairness/account-bytes.ts';
import { makeLeasedSlots } from '#shared/fairness/leased-slots.ts';
import { makeThrottle } from '#shared/fairness/throttle.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Redis } from '#shared/redis/connect.ts';
import type { SecretBox } from '#shared/secret-box.ts';
import { makeKeyUse } from '#shared/stores/apps/key-use.ts';
import { makeRecordAudit } from '#shared/stores/audit/audit-trail.ts';
import { makeWriteDocument } from '#shared/stores/documents/write-document.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';

export type Connections = {
  readonly redis: Redis;
  readonly publish: KafkaConnection['publish'];
  readonly box: SecretBox;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** What every operation stands on: the views, the limits, audited writes, and the connections
 * behind them. */
export type Basis = ReturnType<typeof makeBasis>;

export function makeBasis({ redis, publish, box, now }: Connections) {
  const views = openViews(redis);
  const bytes = makeAccountBytes(redis);
  return {
    ...views,
    redis,
    publish,
    box,
    now,
    slots: makeLeasedSlots(redis),
    throttle: makeThrottle(redis),
    readBytes: bytes.read,
    /** Refuses a write whose account has used its bytes of the day. */
    requireRoom: bytes.requireRoom,
    keyUse: makeKeyUse(redis),
    writes: makeAuditedWrites({ ...views, publish, now }),
  };
}

/**
 * The audit entry of a write: action `key-revoked` with the key's id as its subject. The actor is
 * an e-mail address of the portal, or `operator` for the admin command.
 */
type AuditEntry = { readonly actor: string; readonly action: string; readonly subject: string };

/** Writes to accounts and client apps. Each write that changed something is recorded in the audit
 * log. */
function makeAuditedWrites(deps: ReturnType<typeof openViews> & Pick<Connections, 'publish' | 'now'>) {
  const write = makeWriteDocument(deps);
  const appStore = { ...deps.clientApps, topic: clientApp };
  const accountStore = { ...deps.accounts, topic: account };
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
