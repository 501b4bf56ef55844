import { LRUCache } from 'lru-cache';
import type { ClientApp } from '#shared/contracts/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { isLiveAt, type Signer } from '../domain/sign-message.ts';
import { makeSign } from './make-sign.ts';

/** Client apps whose opened secrets are kept in memory. */
const APPS_MAX = 10_000;
/** A lost notice of a change is made good after this. */
const KEEP_MS = 30_000;
/** Times that a document is read anew because it changed while it was read. */
const READS_MAX = 5;

export type Signers = {
  /**
   * The signers of a client app, newest secret first; never none: what nobody signs is not sent. Secrets that have
   * expired are not opened: their key may be gone.
   *
   * @throws ServiceError `not-found` for an app that does not exist or has no live secret; the view's own errors
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
      const signers = (app?.webhookSecrets ?? [])
        .map(({ encrypted, expiresAt }) => ({
          encrypted,
          expiresAtMs: expiresAt === undefined ? undefined : Date.parse(expiresAt),
        }))
        .filter((secret) => isLiveAt(secret, now()))
        .map(({ encrypted, expiresAtMs }) => ({ sign: makeSign(open(encrypted, clientId)), expiresAtMs }));
      // Thrown here, so that it is not remembered.
      return requireOne(signers);
    },
  });
  let forgottenCount = 0;

  /** The cache fails whoever waits for an entry that is forgotten meanwhile. */
  async function fetchSigners(clientId: string): Promise<readonly Signer[]> {
    for (let reads = 1; ; reads++) {
      const countBefore = forgottenCount;
      try {
        return await cache.forceFetch(clientId);
      } catch (error) {
        if (error instanceof ServiceError || forgottenCount === countBefore) throw error;
        if (reads === READS_MAX)
          throw new ServiceError('store-unavailable', 'the client app changes and changes');
      }
    }
  }

  return {
    read: async (clientId) =>
      requireOne((await fetchSigners(clientId)).filter((signer) => isLiveAt(signer, now()))),
    forget(clientId) {
      forgottenCount++;
      if (clientId === undefined) cache.clear();
      else cache.delete(clientId);
    },
  };
}

function requireOne(signers: readonly Signer[]): readonly Signer[] {
  if (signers.length === 0) throw new ServiceError('not-found', 'the client app has no signing secret');
  return signers;
}
