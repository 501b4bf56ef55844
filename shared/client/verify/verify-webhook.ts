import type {
  BatchCompleted,
  CheckResult,
  QuotaAlert,
  RolesChanged,
  TestEvent,
  WatchHeld,
  WatchRecovered,
  WatchStalled,
} from '../api-types.ts';
import { RolecallError } from '../http/rolecall-error.ts';
import { type Bytes, bytesOfBase64, bytesOfText } from './base64.ts';

/** Headers as `fetch` or Node's `request.headers` has them. */
export type WebhookHeaders =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The body of a webhook; a check's result has no `type`. */
export type WebhookMessage =
  | (CheckResult & { readonly type?: undefined })
  | BatchCompleted
  | RolesChanged
  | WatchHeld
  | WatchStalled
  | WatchRecovered
  | QuotaAlert
  | TestEvent;

export type VerifyWebhookOptions = {
  /** How far `webhook-timestamp` may be from now, either way; default 300. */
  readonly toleranceSeconds?: number;
  /** Epoch ms; default now. */
  readonly nowMs?: number;
};

const TOLERANCE_SECONDS = 300;
/** Live secrets during a rotation are at most 3; more signatures than this are not looked at. */
const SIGNATURES_MAX = 16;
const SECRET_PREFIX = 'whsec_';

/**
 * Checks signature and age of a webhook (Standard Webhooks), then parses it.
 *
 * @param rawBody the body as it came, before any JSON parser
 * @param secret `whsec_…`, or several of them
 * @throws RolecallError `webhook-invalid` if it is forged, changed or too old
 *
 * @example
 * app.post('/hooks', express.text({ type: 'application/json', limit: '4mb' }), async (request, response) => {
 *   try {
 *     const message = await verifyWebhook(request.headers, request.body, process.env.WEBHOOK_SECRET);
 *     response.sendStatus(204);
 *   } catch {
 *     response.sendStatus(401);
 *   }
 * });
 */
export async function verifyWebhook<Message = WebhookMessage>(
  headers: WebhookHeaders,
  rawBody: string | Uint8Array | ArrayBuffer,
  secret: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS, nowMs = Date.now() }: VerifyWebhookOptions = {},
): Promise<Message> {
  const body = bytesOfBody(rawBody);
  const keys = (Array.isArray(secret) ? secret : [secret]).map(keyBytesOf);
  if (keys.length === 0) throw new RolecallError('config-invalid', 'No webhook secret was given.');
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  if (!id || !signatures || !timestamp || !/^[0-9]{1,12}$/.test(timestamp))
    throw invalid(
      'The webhook-id, webhook-timestamp and webhook-signature headers are missing or malformed.',
    );
  const ageSeconds = Math.abs(nowMs / 1_000 - Number(timestamp));
  if (!(ageSeconds <= toleranceSeconds))
    throw invalid(
      `The webhook is ${Math.round(ageSeconds)} s from now, more than ${toleranceSeconds} s allowed.`,
    );
  const signed = concatenate(bytesOfText(`${id}.${timestamp}.`), body);
  const candidates = signatures.split(' ', SIGNATURES_MAX).flatMap((signature) => {
    const bytes = signature.startsWith('v1,') ? bytesOfBase64(signature.slice(3)) : undefined;
    return bytes ? [bytes] : [];
  });
  if (!(await matchesAny(keys, candidates, signed)))
    throw invalid(
      'No signature matches: the secret is another one, or the body is not the raw body that was sent.',
    );
  try {
    return JSON.parse(new TextDecoder().decode(body)) as Message;
  } catch (cause) {
    throw new RolecallError('webhook-invalid', 'The signed body is not JSON.', { cause });
  }
}

const invalid = (detail: string): RolecallError => new RolecallError('webhook-invalid', detail);

/** Bytes may be of another realm, such as a test runner's, where `instanceof` is false. */
function bytesOfBody(rawBody: unknown): Bytes {
  if (typeof rawBody === 'string') return bytesOfText(rawBody);
  if (ArrayBuffer.isView(rawBody))
    return new Uint8Array(new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength));
  if (Object.prototype.toString.call(rawBody) === '[object ArrayBuffer]')
    return new Uint8Array(new Uint8Array(rawBody as ArrayBuffer));
  throw new RolecallError(
    'config-invalid',
    'rawBody must be the raw body as a string or bytes. In Express, use express.text({ type: "application/json" }).',
  );
}

function keyBytesOf(secret: unknown): Bytes {
  const isSecret = typeof secret === 'string' && secret.startsWith(SECRET_PREFIX);
  const bytes = isSecret ? bytesOfBase64(secret.slice(SECRET_PREFIX.length)) : undefined;
  if (!bytes || bytes.length === 0)
    throw new RolecallError(
      'config-invalid',
      'A webhook secret must be whsec_ and base64, as the portal shows it.',
    );
  return bytes;
}

/**
 * Headers of any class: `undici` and other realms have their own. Node lower-cases the names in a
 * record; other sources may not.
 */
function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined;
  const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name);
  const value = entry?.[1];
  return typeof value === 'string' ? value : value?.[0];
}

function concatenate(head: Bytes, tail: Bytes): Bytes {
  const bytes = new Uint8Array(head.length + tail.length);
  bytes.set(head);
  bytes.set(tail, head.length);
  return bytes;
}

/** WebCrypto compares in constant time. */
async function matchesAny(
  keys: readonly Bytes[],
  signatures: readonly Bytes[],
  signed: Bytes,
): Promise<boolean> {
  for (const bytes of keys) {
    const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
      'verify',
    ]);
    for (const signature of signatures)
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return true;
  }
  return false;
}
