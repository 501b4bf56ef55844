import { ClientApp } from '#shared/contracts/client-app.ts';
import type { Redis } from './connect.ts';
import { marketplaceKeysKey, ownedAppsKey } from './places.ts';
import { makeVersionedDocuments, type SetEntry, type VersionedDocuments } from './versioned-documents.ts';
import type { ViewAccess } from './view.ts';

/** Announces a changed client app; the message is its id. */
export const CLIENT_APP_CHANGED = 'client-app:changed';

/** The view of the client apps. */
export type ClientApps = {
  /** Deleted ones included: their document stays as a tombstone, and signs what is still under way. */
  readonly read: (clientId: string) => Promise<ClientApp | undefined>;
  /** The app that a key belongs to, by the key's SHA-256 (hex), revoked and expired keys included. */
  readonly findByKeyHash: (hash: string) => Promise<ClientApp | undefined>;
  readonly lease: VersionedDocuments<ClientApp>['lease'];
  /** Puts a document in; false where the view has the same or a newer version. Announces the change. */
  readonly project: (app: ClientApp, access?: ViewAccess) => Promise<boolean>;
  /** All that are not deleted, oldest first. */
  readonly list: () => Promise<ClientApp[]>;
  /** Those of one account. */
  readonly listOwned: (accountId: string) => Promise<ClientApp[]>;
};

/**
 * A revoked key stays in the index: the document says that it is revoked, and "unknown" and "revoked" are one answer.
 *
 * @example
 * const app = await makeClientApps(redis).findByKeyHash(hashApiKey(key));
 */
export function makeClientApps(redis: Redis): ClientApps {
  const { read, find, lease, project, list, listSet } = makeVersionedDocuments(redis, {
    key: 'client-apps:2',
    parse: (json) => ClientApp.parse(json),
    idOf: ({ clientId }) => clientId,
    indexOf: ({ keys }) => keys.map(({ hash }) => hash),
    setsOf,
    channel: CLIENT_APP_CHANGED,
  });
  return {
    read,
    lease,
    findByKeyHash: find,
    project,
    list: async () => shown(await list()),
    listOwned: async (accountId) => shown(await listSet(ownedAppsKey(accountId))),
  };
}

const shown = (apps: readonly ClientApp[]): ClientApp[] =>
  apps
    .filter(({ deletedAt }) => deletedAt === undefined)
    .sort((a, b) => a.createdAt.localeCompare(b.createdAt));

/** What the app counts for: itself, and each of its marketplace keys as long as it can be used. */
function setsOf({ clientId, accountId, deletedAt, keys }: ClientApp): SetEntry[] {
  const marketplace = keys.filter((key) => key.marketplace);
  return [
    {
      set: ownedAppsKey(accountId),
      member: clientId,
      untilMs: deletedAt === undefined ? Infinity : undefined,
    },
    ...marketplace.map(({ keyId, expiresAt, revokedAt, replacedBy }) => ({
      set: marketplaceKeysKey(accountId),
      member: keyId,
      untilMs: lastsUntil(revokedAt ?? replacedBy, expiresAt),
    })),
  ];
}

function lastsUntil(endedBy: string | undefined, expiresAt: string | undefined): number | undefined {
  if (endedBy !== undefined) return undefined;
  return expiresAt === undefined ? Infinity : Date.parse(expiresAt);
}
