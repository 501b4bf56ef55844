import { AppAccess, AppLimits, ClientApp, type KeyPermission } from '#shared/contracts/apps/client-app.ts';
import {
  APPROVED_APPS,
  marketplaceKeysKey,
  memberAppsKey,
  ownedAppsKey,
} from '#shared/fairness/leased-slots.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript, REQUIRE_VIEW, viewCommand } from '#shared/redis/script.ts';
import { appTrailKeys } from '../audit/audit-trail.ts';
import {
  type EraseRecord,
  keysOf,
  makeVersionedDocuments,
  type SetEntry,
} from '../documents/versioned-documents.ts';
import { ACCOUNT_SUMMARIES_KEY } from './accounts.ts';
import { keyUseKey } from './key-use.ts';

/** Announces a changed client app; the message is its id. */
export const CLIENT_APP_CHANGED = 'client-app:changed';
const CLIENT_APPS_KEY = 'client-apps';
/** By its id, the access of each app (`AppAccess`). */
export const APP_SUMMARIES_KEY = keysOf(CLIENT_APPS_KEY).summaries;

/** A key that is not revoked, and the access of its app: a few hundred bytes, however many keys the
 * app has. */
export type KeyHolder = {
  readonly keyId: string;
  readonly permissions: readonly KeyPermission[];
  /** Epoch ms; `Infinity` where it does not expire. */
  readonly expiresAtMs: number;
  readonly app: AppAccess;
};

/**
 * KEYS: index, summaries, the accounts' summaries. ARGV: hash. The limits are those
 * of the account, read in the same step.
 */
const FIND_KEY = `${REQUIRE_VIEW}
local entry = redis.call('HGET', KEYS[1], ARGV[1])
if not entry then return false end
local app = redis.call('HGET', KEYS[2], string.match(entry, '^%S+'))
if not app then return false end
return {entry, app, redis.call('HGET', KEYS[3], cjson.decode(app).accountId) or ''}
`;

export function makeClientApps(redis: Redis) {
  const findKey = makeScript<[string, string, string] | null>(redis, FIND_KEY);
  const countIn = makeScript<number>(redis, viewCommand('ZCOUNT'));
  const { index } = keysOf(CLIENT_APPS_KEY);
  const { read, lease, project, listEnded, erase, list, listSet, scan } = makeVersionedDocuments(redis, {
    key: CLIENT_APPS_KEY,
    parse: (json) => ClientApp.parse(json),
    idOf: ({ clientId }) => clientId,
    indexOf: keysOfApp,
    summaryOf: ({ clientId, accountId, suspended, scope, limits, domains }) =>
      JSON.stringify({ clientId, accountId, suspended, scope, limits, domains } satisfies AppAccess),
    setsOf,
    channel: CLIENT_APP_CHANGED,
  });
  return {
    /** Deleted ones included, until their last webhook has ended: the tombstone signs it. */
    read,
    /** The key with this SHA-256 (hex); nothing if the key is unknown or revoked. Expired keys are
     * found. */
    async findKey(hash: string): Promise<KeyHolder | undefined> {
      const keys = [index, APP_SUMMARIES_KEY, ACCOUNT_SUMMARIES_KEY];
      const found = await findKey(keys, [hash]);
      if (!found) return undefined;
      const [entry, appJson, limitsJson] = found;
      const [, keyId = '', permissions = '', expiresAtMs] = entry.split(' ');
      const app = AppAccess.parse(JSON.parse(appJson));
      return {
        keyId,
        permissions: permissions.split(',') as KeyPermission[],
        expiresAtMs: expiresAtMs === undefined ? Infinity : Number(expiresAtMs),
        app: limitsJson === '' ? app : { ...app, limits: AppLimits.parse(JSON.parse(limitsJson)) },
      };
    },
    lease,
    /** Puts a document in; false if the view has the same or a newer version. Announces the
     * change. */
    project,
    /** A step through all apps, deleted ones included. */
    scan,
    /** What `select` returns for all apps that are not deleted, oldest first. */
    list: <T>(select: (app: ClientApp) => T): Promise<T[]> => oldestFirst(list, select),
    listOwned: <T>(accountId: string, select: (app: ClientApp) => T): Promise<T[]> =>
      oldestFirst((take) => listSet(ownedAppsKey(accountId), take), select),
    /** The same for the apps of other accounts that an account is a member of. */
    listShared: <T>(accountId: string, select: (app: ClientApp) => T): Promise<T[]> =>
      oldestFirst((take) => listSet(memberAppsKey(accountId), take), select),
    /** Without those that are being created: the score of such a one is finite, the end of its
     * lease. */
    countOwned: (accountId: string): Promise<number> => countIn([ownedAppsKey(accountId)], ['+inf', '+inf']),
    /** Apps that were deleted until then and are not erased yet, the first deleted first. */
    listEnded,
    async erase(clientId: string, nowMs: number, eraseRecord: EraseRecord): Promise<void> {
      await inStore(() => redis.del(...appTrailKeys(clientId), keyUseKey(clientId)));
      await erase(clientId, nowMs, eraseRecord);
    },
  };
}

export type ClientApps = ReturnType<typeof makeClientApps>;

/** What `select` returns for the apps that are not deleted. The apps, of up to 300 KB each, are not
 * kept. */
async function oldestFirst<T>(
  readEach: <R>(take: (app: ClientApp) => R) => Promise<R[]>,
  select: (app: ClientApp) => T,
): Promise<T[]> {
  const found = await readEach((app) =>
    app.deletedAt === undefined ? [{ createdAt: app.createdAt, selected: select(app) }] : [],
  );
  return found
    .flat()
    .sort((a, b) => a.createdAt.localeCompare(b.createdAt))
    .map(({ selected }) => selected);
}

/** By the hash of each key that is not revoked: the app, the key, its permissions, and when it
 * expires. "Unknown" and "revoked" are one answer. */
const keysOfApp = ({ clientId, deletedAt, keys }: ClientApp): Record<string, string> =>
  Object.fromEntries(
    keys
      .filter(({ revokedAt }) => revokedAt === undefined && deletedAt === undefined)
      .map(({ hash, keyId, permissions, expiresAt }) => [
        hash,
        `${clientId} ${keyId} ${permissions.join(',')}${expiresAt === undefined ? '' : ` ${Date.parse(expiresAt)}`}`,
      ]),
  );

/** The index entries of the app: itself, and each of its marketplace keys as long as the key can be
 * used. */
function setsOf({ clientId, accountId, deletedAt, scope, keys, members = [] }: ClientApp): SetEntry[] {
  if (deletedAt !== undefined) return [];
  const entry = (set: string): SetEntry => ({ set, member: clientId, untilMs: Infinity });
  const usable = keys.filter((key) => key.marketplace && (key.revokedAt ?? key.replacedBy) === undefined);
  return [
    entry(ownedAppsKey(accountId)),
    ...(scope === 'approved' ? [entry(`${APPROVED_APPS}${accountId}`)] : []),
    ...members.map((member) => entry(memberAppsKey(member.accountId))),
    ...usable.map(({ keyId, expiresAt }) => ({
      set: marketplaceKeysKey(accountId),
      member: keyId,
      untilMs: expiresAt === undefined ? Infinity : Date.parse(expiresAt),
    })),
  ];
}
