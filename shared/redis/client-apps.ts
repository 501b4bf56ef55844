import { ClientApp } from '#shared/contracts/client-app.ts';
import { inStore, type Redis } from './connect.ts';
import { makeScript } from './script.ts';
import { EVERYDAY, GENERATION_KEY, REQUIRE_VIEW, type ViewAccess } from './view.ts';

/** Announces a changed client app; the message is its id. */
export const CLIENT_APP_CHANGED = 'client-app:changed';

const APPS_KEY = 'client-apps';
const KEYS_KEY = 'client-apps:by-key-hash';

/**
 * Applies a client app's document unless the view has a newer one. A revoked key stays in the index: the
 * document says that it is revoked, and "unknown" and "revoked" are one answer.
 */
const PROJECT = `${REQUIRE_VIEW}
local stored = redis.call('HGET', KEYS[2], ARGV[2])
if stored then
  local version = tonumber(string.match(stored, '^(%d+) '))
  if version >= tonumber(ARGV[3]) then return 0 end
end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3] .. ' ' .. ARGV[4])
for i = 5, #ARGV do redis.call('HSET', KEYS[3], ARGV[i], ARGV[2]) end
redis.call('PUBLISH', '${CLIENT_APP_CHANGED}', ARGV[2])
return 1
`;

const READ = `${REQUIRE_VIEW}
return redis.call('HGET', KEYS[2], ARGV[2]) or false
`;

const FIND_BY_KEY = `${REQUIRE_VIEW}
local clientId = redis.call('HGET', KEYS[3], ARGV[2])
if not clientId then return false end
return redis.call('HGET', KEYS[2], clientId) or false
`;

/** The view of the client apps: one place for its keys and for which document wins. */
export type ClientApps = {
  readonly read: (clientId: string) => Promise<ClientApp | undefined>;
  /** The app that a key belongs to, by the key's SHA-256 (hex), revoked and expired keys included. */
  readonly findByKeyHash: (hash: string) => Promise<ClientApp | undefined>;
  /** Puts a document in; false where the view has the same or a newer version. Announces the change. */
  readonly project: (app: ClientApp, access?: ViewAccess) => Promise<boolean>;
  readonly list: () => Promise<ClientApp[]>;
};

/**
 * @example
 * const app = await makeClientApps(redis).findByKeyHash(hashApiKey(key));
 */
export function makeClientApps(redis: Redis): ClientApps {
  const project = makeScript<number>(redis, 'projectClientApp', PROJECT);
  const read = makeScript<string | null>(redis, 'readClientApp', READ);
  const findByKey = makeScript<string | null>(redis, 'findClientApp', FIND_BY_KEY);
  return {
    read: async (clientId) => parse(await read([GENERATION_KEY, APPS_KEY], [EVERYDAY, clientId])),
    findByKeyHash: async (hash) =>
      parse(await findByKey([GENERATION_KEY, APPS_KEY, KEYS_KEY], [EVERYDAY, hash])),
    async project(app, access = EVERYDAY) {
      const args = [
        access,
        app.clientId,
        app.version,
        JSON.stringify(app),
        ...app.keys.map(({ hash }) => hash),
      ];
      return (await project([GENERATION_KEY, APPS_KEY, KEYS_KEY], args)) === 1;
    },
    async list() {
      const stored = await inStore(() => redis.hvals(APPS_KEY));
      return stored
        .flatMap((text) => parse(text) ?? [])
        .sort((a, b) => a.createdAt.localeCompare(b.createdAt));
    },
  };
}

/** `<version> <document>`: the version stands in front so that the script need not parse the document. */
const parse = (stored: string | null): ClientApp | undefined =>
  stored === null ? undefined : ClientApp.parse(JSON.parse(stored.slice(stored.indexOf(' ') + 1)));
