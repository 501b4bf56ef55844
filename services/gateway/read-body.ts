import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { Problem } from './problem.ts';

/** Room for a thousand rules. */
export const BODY_BYTES_MAX = 256 * 1024;

/** `application/json`, or any type with the structured suffix of RFC 6839. */
const JSON_TYPE = /^(?:application\/json|[a-z0-9!#$&^_.-]+\/[a-z0-9!#$&^_.+-]+\+json)$/;
const CHARSET = /^charset\s*=\s*"?(?:utf-8|utf8|us-ascii)"?$/;

/** A body, or what is wrong with it. A fault is a value here, for it is told only after the limits were applied. */
export type Body =
  | { readonly ok: true; readonly json: unknown }
  | { readonly ok: false; readonly problem: Problem };

const refused = (...args: ConstructorParameters<typeof Problem>): Body => ({
  ok: false,
  problem: new Problem(...args),
});

/**
 * Reads a JSON body of at most 256 KiB. What comes after the bound is read and dropped, so that the client sees the
 * answer and not a reset.
 *
 * @throws Error when the client went away; there is nobody left to answer.
 * @example
 * const body = await readBody(request);
 * if (body.ok) validateCheck(body.json, rules);
 */
export async function readBody(request: IncomingMessage): Promise<Body> {
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length']) > 0;
  const type = request.headers['content-type'];
  if (hasBody || type !== undefined) {
    if (!isJsonType(type ?? '')) return refused('media-type-unsupported', 'Send application/json in UTF-8.');
    if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
      return refused('media-type-unsupported', 'Send the body without a content-encoding.');
  }
  const bytes = await readBytes(request);
  if (bytes === undefined) return refused('body-too-large', `At most ${BODY_BYTES_MAX} bytes.`);
  if (bytes.length === 0) return refused('malformed-json', 'The body is empty.');
  if (!isUtf8(bytes)) return refused('malformed-json', 'The body is not UTF-8.');
  try {
    return { ok: true, json: JSON.parse(bytes.toString('utf8')) };
  } catch {
    return refused('malformed-json', 'The body is not JSON.');
  }
}

function isJsonType(header: string): boolean {
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  if (!JSON_TYPE.test(type.trim())) return false;
  return parameters.every((parameter) => {
    const text = parameter.trim();
    return !text.startsWith('charset') || CHARSET.test(text);
  });
}

function readBytes(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length']) > BODY_BYTES_MAX) {
    request.resume();
    return Promise.resolve(undefined);
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > BODY_BYTES_MAX) {
        chunks.length = 0;
        resolve(undefined);
      } else chunks.push(chunk);
    });
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', reject);
    // Every request is closed at last; an error, which costs a stack, is made only where that was too early.
    request.on('close', () => request.complete || reject(new Error('the client went away')));
  });
}
