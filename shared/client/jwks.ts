import { RolecallError } from './rolecall-error.ts';

/** A JWKS document (RFC 7517), such as `/.well-known/jwks.json` of a gateway. */
export type Jwks = {
  readonly keys: readonly { readonly kid?: string; readonly [member: string]: unknown }[];
};

/** A public key of a document, by `kid`. */
export type FindKey = (kid: string) => Promise<PublicKey | undefined>;

type PublicKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;
type Fetch = typeof globalThis.fetch;

/** As long as the gateway says that the document may be cached. */
const FRESH_MS = 300_000;
/** An unknown `kid` reads the document again, at most so often, because a stranger may send tokens with any `kid`. */
const REREAD_MS_MIN = 10_000;
const FETCH_TIMEOUT_MS = 5_000;
const DOCUMENTS_MAX = 16;
const DOCUMENT_BYTES_MAX = 65_536;

type Cached = {
  readonly readAt: number;
  readonly keys: Promise<ReadonlyMap<string, PublicKey>>;
  readonly requestedAt: number;
  /** What the last request returned, or will return: `keys`, or the reading again for an unknown `kid`. */
  readonly newest: Promise<ReadonlyMap<string, PublicKey>>;
};
const cache = new Map<string, Cached>();

/** How keys are found: in a document, or at its URL, read when it is needed and kept for five minutes. */
export function makeFindKey(jwks: Jwks | string | URL, fetch: Fetch): FindKey {
  if (typeof jwks !== 'string' && !(jwks instanceof URL))
    return async (kid) => (await importKeys(jwks)).get(kid);
  const url = String(jwks);
  if (!URL.canParse(url))
    throw new RolecallError('config-invalid', 'jwks must be a JWKS document or the absolute URL of one.');
  return async (kid) => {
    const keys = await readKeptKeys(url, fetch);
    return keys.get(kid) ?? (await readNewestKeys(url, fetch)).get(kid);
  };
}

/** Several callers share one request; a failed one is not kept. */
function readKeptKeys(url: string, fetch: Fetch): Promise<ReadonlyMap<string, PublicKey>> {
  const known = cache.get(url);
  const nowMs = performance.now();
  if (known && nowMs - known.readAt < FRESH_MS) return known.keys;
  const keys = readKeys(url, fetch);
  const reading: Cached = { readAt: nowMs, keys, requestedAt: nowMs, newest: keys };
  keys.catch(() => {
    if (cache.get(url) === reading) cache.delete(url);
  });
  keep(url, reading);
  return keys;
}

/** Reads the document again. The kept keys are used until it has been read: a stranger must not take them away. */
function readNewestKeys(url: string, fetch: Fetch): Promise<ReadonlyMap<string, PublicKey>> {
  const known = cache.get(url);
  const nowMs = performance.now();
  if (!known) return readKeptKeys(url, fetch);
  if (nowMs - known.requestedAt < REREAD_MS_MIN) return known.newest;
  const newest = readKeys(url, fetch);
  keep(url, { ...known, requestedAt: nowMs, newest });
  newest.then(
    () => keep(url, { readAt: nowMs, keys: newest, requestedAt: nowMs, newest }),
    () => undefined,
  );
  return newest;
}

function keep(url: string, cached: Cached): void {
  cache.delete(url);
  cache.set(url, cached);
  for (const oldest of cache.keys()) if (cache.size > DOCUMENTS_MAX) cache.delete(oldest);
}

async function readKeys(url: string, fetch: Fetch): Promise<ReadonlyMap<string, PublicKey>> {
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
  return importKeys(document as Jwks);
}

async function download(
  url: string,
  fetch: Fetch,
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
    return { status: response.status, text: await response.text() };
  } catch (cause) {
    throw new RolecallError('network-unavailable', `The keys at ${url} could not be read.`, { cause });
  }
}

/** Only Ed25519 keys: other keys of the document belong to other services. */
async function importKeys(document: Jwks): Promise<ReadonlyMap<string, PublicKey>> {
  if (!Array.isArray((document as Partial<Jwks> | null)?.keys))
    throw new RolecallError('jwks-invalid', 'The JWKS document must be an object with a list "keys".');
  const keys = new Map<string, PublicKey>();
  for (const jwk of document.keys) {
    if (jwk?.['kty'] !== 'OKP' || jwk['crv'] !== 'Ed25519' || typeof jwk.kid !== 'string') continue;
    keys.set(jwk.kid, await importKey(jwk));
  }
  return keys;
}

async function importKey({ kid, x }: Jwks['keys'][number]): Promise<PublicKey> {
  try {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: String(x) };
    return await crypto.subtle.importKey('jwk', jwk, { name: 'Ed25519' }, false, ['verify']);
  } catch (cause) {
    throw new RolecallError('jwks-invalid', `Key ${kid} of the JWKS document is not an Ed25519 public key.`, {
      cause,
    });
  }
}
