import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { hashApiKey, isWellFormedApiKey } from '#shared/contracts/apps/api-key.ts';
import type { AppAccess, KeyPermission } from '#shared/contracts/apps/client-app.ts';
import { refuseApp } from '#shared/contracts/apps/refuse-app.ts';
import { Problem, retryAfter } from '#shared/http/problem.ts';
import type { KeyHolder } from '#shared/stores/apps/client-apps.ts';
import { accessOf, type Response } from '../edge/exchange.ts';

/** The caller: a client app by one of its live keys. */
export type Caller = Pick<KeyHolder, 'app' | 'keyId' | 'permissions'>;

/** The same answer for every bad key, so that it does not reveal which keys exist. */
const INVALID_KEY =
  'The key is malformed, unknown, revoked or expired; a key begins with rck_live_ and has 45 characters.';

const CHALLENGE = 'ApiKey realm="rolecall"';

/** The token of RFC 6750. */
const bearerOf = (header: string | undefined): string | undefined =>
  /^Bearer +([^ ]+)$/i.exec(header?.trim() ?? '')?.[1];

function describeMissingKey(header: string | undefined, takesBearer: boolean): string {
  if (takesBearer) return 'Send your API key in the x-api-key header, or as authorization: Bearer <key>.';
  return `Send your API key in the x-api-key header${header === undefined ? '' : ', not in authorization'}.`;
}

/** How long a revoked key may still be accepted if the notice of its revocation is lost. */
const CACHE_MS = 30_000;
/** Maximum of cached keys; an entry has the key's id, permissions and expiry. */
const CACHED_KEYS_MAX = 20_000;
/** Maximum size of the cached apps; an app is cached once, however many keys it has. */
export const CACHED_APPS_BYTES_MAX = 8 * 1024 * 1024;
/** Memory of a cache entry beside its texts, estimated from a heap snapshot. */
const ENTRY_BYTES = 400;

type Dependencies = {
  /** The view of client apps; expired keys are found as well. */
  readonly findKey: (hash: string) => Promise<KeyHolder | undefined>;
  /** Redis's clock, epoch ms. */
  readonly now: () => number;
  /** Counts a failed key; false once the address has used its budget up. */
  readonly mayFail: (address: string) => boolean;
  /** Called for every look-up with whether the app was cached. */
  readonly observeLookup: (result: 'hit' | 'miss') => void;
  /** Called for every valid key. */
  readonly noteUse: (caller: Caller) => void;
};

export type Authenticator = ReturnType<typeof makeAuthenticator>;

/** An app as it was read, and the text that tells whether it was read differently since. */
type KnownApp = { readonly app: AppAccess; readonly text: string };
type KnownKey = Omit<KeyHolder, 'app'> & { readonly of: KnownApp };

/**
 * Identifies the caller by its key, which is in the `x-api-key` header, or for some operations a
 * bearer token. A malformed key is refused without I/O; every other bad key gets the same answer, so
 * that a caller cannot learn which keys once were valid.
 */
export function makeAuthenticator(deps: Dependencies) {
  const keys = new LRUCache<string, KnownKey>({ max: CACHED_KEYS_MAX, ttl: CACHE_MS });
  const apps = new LRUCache<string, KnownApp>({
    maxSize: CACHED_APPS_BYTES_MAX,
    sizeCalculation: ({ text }) => 2 * text.length + ENTRY_BYTES,
    ttl: CACHE_MS,
  });
  let generation = 0;

  const findKey = async (hash: string): Promise<KnownKey | undefined> => {
    const cached = keys.get(hash);
    // A cached key is valid as long as its app is unchanged since the key was read.
    const isKnown = cached !== undefined && apps.get(cached.of.app.clientId) === cached.of;
    deps.observeLookup(isKnown ? 'hit' : 'miss');
    if (isKnown) return cached;
    const startedIn = generation;
    const holder = await deps.findKey(hash);
    if (!holder) return undefined;
    const { app, ...facts } = holder;
    const text = JSON.stringify(app);
    const before = apps.get(app.clientId);
    const of = before?.text === text ? before : { app, text };
    const key = { ...facts, of };
    // The result of a read may lack a change that was announced during the read.
    if (startedIn === generation) {
      apps.set(app.clientId, of);
      keys.set(hash, key);
    }
    return key;
  };
  const refuse = (address: string, headers: Problem['headers']): Problem =>
    deps.mayFail(address)
      ? new Problem('api-key-invalid', INVALID_KEY, { headers })
      : new Problem('rate-limited', 'Too many failed keys from this address.', {
          members: { 'violated-policies': ['per-second'] },
          headers: retryAfter(1_000),
        });

  return {
    /** Throws Problem `api-key-missing`, `api-key-invalid`, `rate-limited`; ServiceError when the
     * view is away. */
    async authenticate(
      request: IncomingMessage,
      address: string,
      { takesBearer = false }: { readonly takesBearer?: boolean } = {},
    ): Promise<Caller> {
      const { 'x-api-key': own, authorization } = request.headers;
      const key = own || (takesBearer ? bearerOf(authorization) : undefined);
      const challenge = {
        'www-authenticate': takesBearer ? `${CHALLENGE}, Bearer realm="rolecall"` : CHALLENGE,
      };
      if (key === undefined)
        throw new Problem('api-key-missing', describeMissingKey(authorization, takesBearer), {
          headers: challenge,
        });
      if (typeof key !== 'string' || !isWellFormedApiKey(key)) throw refuse(address, challenge);
      const known = await findKey(hashApiKey(key));
      if (!known || known.expiresAtMs <= deps.now()) throw refuse(address, challenge);
      const caller = { app: known.of.app, keyId: known.keyId, permissions: known.permissions };
      deps.noteUse(caller);
      return caller;
    },
    /** A client app has changed. */
    forget(clientId: string): void {
      generation += 1;
      apps.delete(clientId);
    },
    /** An account has changed, and with it the limits of its apps. */
    forgetAccount(accountId: string): void {
      generation += 1;
      for (const [clientId, { app }] of apps.entries())
        if (app.accountId === accountId) apps.delete(clientId);
    },
    forgetAll(): void {
      generation += 1;
      apps.clear();
      keys.clear();
    },
  };
}

/** Why a caller may not use the operation of an exchange, or `undefined`. The app outranks the
 * key. */
export function accessProblemOf(caller: Caller, response: Response): Problem | undefined {
  const refused = refuseApp(caller.app, 'approved');
  if (refused) return new Problem(refused.code, refused.detail);
  const access = accessOf(response);
  return access === 'public' || access === 'any-key' ? undefined : permissionProblemOf(caller, access);
}

/** Why a key lacks a permission, or `undefined`. */
export const permissionProblemOf = (
  { permissions }: Pick<Caller, 'permissions'>,
  needed: KeyPermission,
): Problem | undefined =>
  permissions.includes(needed)
    ? undefined
    : new Problem(
        'permission-missing',
        `This request needs the permission "${needed}"; the API key has ${permissions.map((one) => `"${one}"`).join(' and ')}.`,
      );
