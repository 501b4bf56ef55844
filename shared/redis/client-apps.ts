import { ClientApp } from '#shared/contracts/client-app.ts';
import type { Redis } from './connect.ts';
import { makeVersionedDocuments } from './versioned-documents.ts';
import type { ViewAccess } from './view.ts';

/** Announces a changed client app; the message is its id. */
export const CLIENT_APP_CHANGED = 'client-app:changed';

/** The view of the client apps. */
export type ClientApps = {
  readonly read: (clientId: string) => Promise<ClientApp | undefined>;
  /** The app that a key belongs to, by the key's SHA-256 (hex), revoked and expired keys included. */
  readonly findByKeyHash: (hash: string) => Promise<ClientApp | undefined>;
  /** Puts a document in; false where the view has the same or a newer version. Announces the change. */
  readonly project: (app: ClientApp, access?: ViewAccess) => Promise<boolean>;
  /** Oldest first. */
  readonly list: () => Promise<ClientApp[]>;
};

/**
 * A revoked key stays in the index: the document says that it is revoked, and "unknown" and "revoked" are one answer.
 *
 * @example
 * const app = await makeClientApps(redis).findByKeyHash(hashApiKey(key));
 */
export function makeClientApps(redis: Redis): ClientApps {
  const { read, find, project, list } = makeVersionedDocuments(redis, {
    key: 'client-apps',
    parse: (json) => ClientApp.parse(json),
    idOf: ({ clientId }) => clientId,
    indexOf: ({ keys }) => keys.map(({ hash }) => hash),
    channel: CLIENT_APP_CHANGED,
  });
  return {
    read,
    findByKeyHash: find,
    project,
    list: async () => (await list()).sort((a, b) => a.createdAt.localeCompare(b.createdAt)),
  };
}
