import { type Account, account, type ClientApp, clientApp } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { makeAccountBytes } from '#shared/fairness/account-bytes.ts';
import { makeLeasedSlots } from '#shared/fairness/leased-slots.ts';
import { makeThrottle } from '#shared/fairness/throttle.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Redis } from '#shared/redis/connect.ts';
import type { SecretBox } from '#shared/secret-box.ts';
import { makeKeyUse } from '#shared/stores/apps/key-use.ts';
import { makeRecordAudit, type NewAudit } from '#shared/stores/audit/audit-trail.ts';
import { type DocumentStore, makeWriteDocument } from '#shared/stores/documents/write-document.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';

export type Connections = {
  readonly redis: Redis;
  readonly publish: KafkaConnection['publish'];
  readonly box: SecretBox;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** What was looked for. @throws ServiceError `not-found` if there is none, or it was deleted */
export function existing<T extends object>(found: T | undefined, message: string): T {
  if (!found || ('deletedAt' in found && found.deletedAt !== undefined))
    throw new ServiceError('not-found', message);
  return found;
}

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
  const record = makeRecordAudit(deps);
  const audited =
    <D extends Account | ClientApp>(
      store: DocumentStore<D>,
      aboutOf: (document: D) => Pick<NewAudit, 'accountId' | 'clientId'>,
    ) =>
    /** @throws ServiceError `not-found` if there is no such document and `change` makes none */
    async (id: string, entry: AuditEntry, change: (current: D | undefined) => D | undefined): Promise<D> => {
      const { document, changed } = existing(await write(store, id, change), `there is no ${id}`);
      if (changed) await record({ ...aboutOf(document), ...entry });
      return document;
    };
  return {
    /** Records an entry. Repeating an entry with the same `at` adds nothing. */
    record,
    app: audited({ ...deps.clientApps, topic: clientApp }, ({ accountId, clientId }) => ({
      accountId,
      clientId,
    })),
    account: audited({ ...deps.accounts, topic: account }, ({ accountId }) => ({ accountId })),
  };
}
