import type { ProofAlg } from '../../contracts/checks/proof-claims.ts';
import { noStore } from '../http/no-store.ts';
import { RolecallError } from '../http/rolecall-error.ts';

/** A JWKS document (RFC 7517), such as `/.well-known/jwks.json` of a gateway. */
export type Jwks = {
  readonly keys: readonly { readonly kid?: string; readonly [member: string]: unknown }[];
};

/** A public key of a document, by `kid`. */
export type FindKey = (kid: string) => Promise<PublicKey | undefined>;

type PublicKey = {
  readonly alg: ProofAlg;
  readonly key: Awaited<ReturnType<typeof crypto.subtle.importKey>>;
};

/** WebCrypto's names of the algorithms. */
export const ALGORITHMS = {
  EdDSA: { name: 'Ed25519' },
  ES256: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
} as const satisfies Readonly<Record<ProofAlg, object>>;

type Fetch = typeof globalThis.fetch;

/** As long as the gateway says that the document may be cached. */
const FRESH_MS = 300_000;
/** While the document cannot be read, its keys are used for a day: as long as a proof of a retired
 * key can be valid. */
const STALE_MS_MAX = 86_400_000;
/** A document whose keys are kept is requested at most so often: a stranger may send tokens with
 * any `kid`. */
const REREAD_MS_MIN = 10_000;
const FETCH_TIMEOUT_MS = 5_000;
const DOCUMENTS_MAX = 16;
const DOCUMENT_BYTES_MAX = 65_536;

/** Public keys by `kid`, each imported when it is first used: a runtime may lack one of the
 * algorithms. */
type Keys = ReadonlyMap<string, () => Promise<PublicKey>>;

/** The documents by their URLs, the latest used last. */
const documents = new Map<string, RemoteDocument>();

/** How keys are found: in a document, or at its URL, read when it is needed and kept for five
 * minutes. */
export function makeFindKey(jwks: Jwks | string | URL, fetch: Fetch): FindKey {
  // A URL of another realm is not an instance of this one's.
  const href = typeof jwks === 'string' ? jwks : (jwks as Partial<URL> | null)?.href;
  if (href === undefined) return (kid) => importKey(keysOf(jwks as Jwks), kid);
  if (!URL.canParse(href))
    throw new RolecallError('config-invalid', 'jwks must be a JWKS document or the absolute URL of one.');
  return async (kid) => {
    const document = documentAt(href);
    const keys = await document.currentKeys(fetch);
    return importKey(keys.has(kid) ? keys : await document.read(fetch), kid);
  };
}

function documentAt(url: string): RemoteDocument {
  const document = documents.get(url) ?? new RemoteDocument(url);
  documents.delete(url);
  documents.set(url, document);
  for (const oldest of documents.keys()) if (documents.size > DOCUMENTS_MAX) documents.delete(oldest);
  return document;
}

/** A document at a URL: its keys as they were last read, and at most one request for newer ones. */
class RemoteDocument {
  readonly #url: string;
  #kept: { readonly keys: Keys; readonly readAt: number } | undefined;
  /** The last request. */
  #newest: { readonly keys: Promise<Keys>; readonly requestedAt: number } | undefined;
  #hasFailed = false;

  constructor(url: string) {
    this.#url = url;
  }

  /** Older keys are used if they cannot be read again. Only the first caller of an outage waits for
   * the request. */
  currentKeys(fetch: Fetch): Promise<Keys> {
    const kept = this.#kept;
    const ageMs = kept ? performance.now() - kept.readAt : Number.POSITIVE_INFINITY;
    if (!kept || ageMs >= STALE_MS_MAX) return this.read(fetch);
    if (ageMs < FRESH_MS) return Promise.resolve(kept.keys);
    const newest = this.read(fetch).catch(() => kept.keys);
    return this.#hasFailed ? Promise.resolve(kept.keys) : newest;
  }

  /** The keys of the last request, or of a new one: several callers share it. */
  read(fetch: Fetch): Promise<Keys> {
    const nowMs = performance.now();
    if (this.#newest && nowMs - this.#newest.requestedAt < REREAD_MS_MIN) return this.#newest.keys;
    const newest = { keys: readKeys(this.#url, fetch), requestedAt: nowMs };
    this.#newest = newest;
    newest.keys.then(
      (keys) => {
        this.#kept = { keys, readAt: nowMs };
        this.#hasFailed = false;
      },
      () => {
        this.#hasFailed = true;
        // Without keys nothing can be verified, so a failure is not kept.
        if (!this.#kept && this.#newest === newest) this.#newest = undefined;
      },
    );
    return newest.keys;
  }
}

async function readKeys(url: string, fetch: Fetch): Promise<Keys> {
  const { status, text } = await download(url, fetch);
  if (status !== 200 || text.length > DOCUMENT_BYTES_MAX)
    throw new RolecallError('jwks-invalid', `${url} answered ${status}: it is not a JWKS document.`, {
      status,
    });
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new RolecallError('jwks-invalid', `${url} is not JSON: use the gateway's /.well-known/jwks.json.`, {
      cause,
    });
  }
  return keysOf(document as Jwks);
}

async function download(
  url: string,
  fetch: Fetch,
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      ...noStore(),
      signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    });
    return { status: response.status, text: await response.text() };
  } catch (cause) {
    throw new RolecallError('network-unavailable', `The keys at ${url} could not be read.`, { cause });
  }
}

/** Only keys of the two algorithms: other keys of the document belong to other services. */
function keysOf(document: Jwks): Keys {
  if (!Array.isArray((document as Partial<Jwks> | null)?.keys))
    throw new RolecallError('jwks-invalid', 'The JWKS document must be an object with a list "keys".');
  const keys = new Map<string, () => Promise<PublicKey>>();
  for (const jwk of document.keys) {
    const alg = algOf(jwk);
    if (alg === undefined || typeof jwk.kid !== 'string') continue;
    let imported: Promise<PublicKey> | undefined;
    keys.set(jwk.kid, () => {
      imported ??= makeKey(jwk, alg);
      return imported;
    });
  }
  return keys;
}

function algOf(jwk: Jwks['keys'][number] | undefined): ProofAlg | undefined {
  if (jwk?.['kty'] === 'OKP' && jwk['crv'] === 'Ed25519') return 'EdDSA';
  return jwk?.['kty'] === 'EC' && jwk['crv'] === 'P-256' ? 'ES256' : undefined;
}

const importKey = async (keys: Keys, kid: string): Promise<PublicKey | undefined> => keys.get(kid)?.();

async function makeKey(jwk: Jwks['keys'][number], alg: ProofAlg): Promise<PublicKey> {
  const [x, y] = [String(jwk['x']), String(jwk['y'])];
  // Without `alg` and `use`, which runtimes compare with names of their own.
  const data = alg === 'EdDSA' ? { kty: 'OKP', crv: 'Ed25519', x } : { kty: 'EC', crv: 'P-256', x, y };
  try {
    return { alg, key: await crypto.subtle.importKey('jwk', data, ALGORITHMS[alg], false, ['verify']) };
  } catch (cause) {
    throw new RolecallError(
      'jwks-invalid',
      `Key ${jwk.kid} of the JWKS document is not a public key for ${alg}, or this runtime does not know ${alg}.`,
      { cause },
    );
  }
}
