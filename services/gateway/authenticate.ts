import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { hashApiKey, isWellFormedApiKey } from '#shared/contracts/api-key.ts';
import type { ClientApp } from '#shared/contracts/client-app.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import { Problem } from './problem.ts';

/** Who is calling: a client app by one of its live keys. */
export type Caller = { readonly app: ClientApp; readonly keyId: string };

/** The longest that a revoked key may still be served, should the notice of its revocation be lost. */
const CACHE_MS = 30_000;
const CACHE_ENTRIES_MAX = 5_000;

export type Dependencies = {
  /** The view of client apps; revoked and expired keys are found as well. */
  readonly findByKeyHash: (hash: string) => Promise<ClientApp | undefined>;
  /** Redis's clock, epoch ms. */
  readonly now: () => number;
  /** Counts a failed key; false once the address has used its budget up. */
  readonly mayFail: (address: string) => boolean;
  /** Told of every look-up, and whether the app was in the cache. */
  readonly observeLookup: (result: 'hit' | 'miss') => void;
  /** Told of every valid key. */
  readonly noteUse: (caller: Caller) => void;
};

export type Authenticator = {
  /** Throws Problem `api-key-missing`, `api-key-invalid`, `rate-limited`; ServiceError when the view is away. */
  readonly authenticate: (request: IncomingMessage, address: string) => Promise<Caller>;
  readonly forget: (clientId: string) => void;
  readonly forgetAll: () => void;
};

const CHALLENGE = { 'www-authenticate': 'ApiKey realm="rolecall"' };

/**
 * Tells who is calling by the `x-api-key` header. A malformed key is refused without I/O; all other bad keys get
 * one and the same answer, so that nobody learns which ones once lived.
 *
 * @example
 * const { authenticate, forget } = makeAuthenticator({ findByKeyHash, now, mayFail });
 * const { app } = await authenticate(request, request.ip);
 */
export function makeAuthenticator(deps: Dependencies): Authenticator {
  const cache = new LRUCache<string, ClientApp>({ max: CACHE_ENTRIES_MAX, ttl: CACHE_MS });
  let generation = 0;

  const findApp = async (hash: string): Promise<ClientApp | undefined> => {
    const cached = cache.get(hash);
    deps.observeLookup(cached ? 'hit' : 'miss');
    if (cached) return cached;
    const startedIn = generation;
    const app = await deps.findByKeyHash(hash);
    // A change announced while the read was under way may not be in what was read.
    if (app && startedIn === generation) cache.set(hash, app);
    return app;
  };
  const refuse = (address: string): Problem =>
    deps.mayFail(address)
      ? new Problem('api-key-invalid', 'The key is malformed, unknown, revoked or expired.', {
          headers: CHALLENGE,
        })
      : new Problem('rate-limited', 'Too many failed keys from this address.', {
          headers: retryAfter(1_000),
        });

  return {
    async authenticate(request, address) {
      const key = request.headers['x-api-key'];
      if (key === undefined || key === '')
        throw new Problem('api-key-missing', 'Send your API key in the x-api-key header.', {
          headers: CHALLENGE,
        });
      if (typeof key !== 'string' || !isWellFormedApiKey(key)) throw refuse(address);
      const hash = hashApiKey(key);
      const app = await findApp(hash);
      const record = app?.keys.find((candidate) => candidate.hash === hash);
      if (!app || !record || record.revokedAt !== undefined) throw refuse(address);
      if (record.expiresAt !== undefined && Date.parse(record.expiresAt) <= deps.now()) throw refuse(address);
      const caller = { app, keyId: record.keyId };
      deps.noteUse(caller);
      return caller;
    },
    forget(clientId) {
      generation += 1;
      for (const [hash, app] of cache.entries()) if (app.clientId === clientId) cache.delete(hash);
    },
    forgetAll() {
      generation += 1;
      cache.clear();
    },
  };
}

/** Why an app may not use the endpoint, or `undefined`. Suspension outranks the scope. */
export function judgeAccess(app: Pick<ClientApp, 'suspended' | 'scope'>): Problem | undefined {
  if (app.suspended)
    return new Problem('client-app-suspended', 'The client app was suspended by the operator.');
  if (app.scope === 'approved') return undefined;
  return new Problem('scope-not-approved', 'The app needs the token-gating scope, approved by the operator.');
}
