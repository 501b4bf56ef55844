import { createHmac, createSecretKey } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { isLiveAt, type Signer } from '../domain/sign-message.ts';

/** Client apps whose opened secrets are kept in memory. */
const APPS_MAX = 10_000;
/** A change whose notice was lost takes effect after this. */
const KEEP_MS = 30_000;

type Dependencies = {
  readonly readClientApp: (clientId: string) => Promise<ClientApp | undefined>;
  /** Opens a sealed secret; the client id is its associated data. */
  readonly open: (sealed: string, clientId: string) => string;
  /** Epoch ms, Redis's clock. */
  readonly redisNowMs: () => number;
};

/** Reads and opens the signing secrets of client apps, once per app and change. */
export function makeSigners({ readClientApp, open, redisNowMs }: Dependencies) {
  const cache = new LRUCache<string, readonly Signer[]>({
    max: APPS_MAX,
    ttl: KEEP_MS,
    // An attempt that is reading when its app changes signs as it began; the next one reads again.
    ignoreFetchAbort: true,
    fetchMethod: async (clientId) => {
      const app = await readClientApp(clientId);
      const signers = (app?.webhookSecrets ?? [])
        .map(({ encrypted, expiresAt }) => ({
          encrypted,
          expiresAtMs: expiresAt === undefined ? undefined : Date.parse(expiresAt),
        }))
        .filter((secret) => isLiveAt(secret, redisNowMs()))
        .map(({ encrypted, expiresAtMs }) => ({ sign: makeSign(open(encrypted, clientId)), expiresAtMs }));
      // Throw here, so that the cache keeps no empty list.
      return requireOne(signers);
    },
  });

  return {
    /**
     * The signers of a client app, newest secret first, at least one: an unsigned webhook is never
     * sent. Expired secrets are not opened, because their key may be gone.
     *
     * @throws ServiceError `not-found` for an app that does not exist or has no live secret; the
     *   view's own errors
     */
    read: async (clientId: string): Promise<readonly Signer[]> =>
      requireOne((await cache.forceFetch(clientId)).filter((signer) => isLiveAt(signer, redisNowMs()))),
    /** Forgets the signers of an app that has changed, or of all apps. */
    forget(clientId?: string): void {
      if (clientId === undefined) cache.clear();
      else cache.delete(clientId);
    },
  };
}

function requireOne(signers: readonly Signer[]): readonly Signer[] {
  if (signers.length === 0) throw new ServiceError('not-found', 'the client app has no signing secret');
  return signers;
}

/**
 * Makes the signing function of a `whsec_…` secret. Uses Node's HMAC, at a third of the CPU time of
 * the standardwebhooks library's JavaScript; the tests verify with that library.
 *
 * @throws ServiceError `config-invalid` for a secret without a key
 */
export function makeSign(secret: string): Signer['sign'] {
  const bytes = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  if (bytes.length === 0)
    throw new ServiceError('config-invalid', 'the signing secret has no key bytes after "whsec_"');
  const key = createSecretKey(bytes);
  return (content) => createHmac('sha256', key).update(content).digest('base64');
}
