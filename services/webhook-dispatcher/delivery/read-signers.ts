import { LRUCache } from 'lru-cache';
import type { ClientApp } from '#shared/contracts/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Signer } from '../domain/sign-message.ts';
import { makeSign } from './make-sign.ts';

/** Client apps whose opened secrets are kept in memory. */
const APPS_MAX = 10_000;
/** A lost notice of a change is made good after this. */
const KEEP_MS = 30_000;

export type Signers = {
  /**
   * The signers of a client app, newest secret first. Secrets that have expired are not opened: their key may be gone.
   *
   * @throws ServiceError `not-found` for an app that does not exist or has no secret; the view's own errors
   */
  readonly read: (clientId: string) => Promise<readonly Signer[]>;
  /** Forgets one app, or all of them: their documents have changed. */
  readonly forget: (clientId?: string) => void;
};

type Dependencies = {
  readonly readClientApp: (clientId: string) => Promise<ClientApp | undefined>;
  /** Opens a sealed secret; the client id is its associated data. */
  readonly open: (sealed: string, clientId: string) => string;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/**
 * Reads and opens the signing secrets of client apps, once per app and change.
 *
 * @example
 * const signers = makeSigners({ readClientApp: clientApps.read, open: box.open, now: clock.now });
 * signMessage({ requestId, body, atMs, signers: await signers.read(clientId) });
 */
export function makeSigners({ readClientApp, open, now }: Dependencies): Signers {
  const cache = new LRUCache<string, readonly Signer[]>({
    max: APPS_MAX,
    ttl: KEEP_MS,
    fetchMethod: async (clientId) => {
      const app = await readClientApp(clientId);
      if (app === undefined || app.webhookSecrets.length === 0)
        throw new ServiceError('not-found', 'the client app has no signing secret');
      const isLive = ({ expiresAt }: { readonly expiresAt?: string | undefined }) =>
        expiresAt === undefined || Date.parse(expiresAt) > now();
      return app.webhookSecrets.filter(isLive).map((secret) => ({
        sign: makeSign(open(secret.encrypted, clientId)),
        expiresAtMs: secret.expiresAt === undefined ? undefined : Date.parse(secret.expiresAt),
      }));
    },
  });
  return {
    read: (clientId) => cache.forceFetch(clientId),
    forget(clientId) {
      if (clientId === undefined) cache.clear();
      else cache.delete(clientId);
    },
  };
}
