import type { IncomingMessage } from 'node:http';
import { parseJson } from './parse-json.ts';
import { Problem } from './problem.ts';

/** Room for a thousand rules. */
export const BODY_BYTES_MAX = 256 * 1024;

/** `application/json`, or any type with the structured suffix of RFC 6839. */
const JSON_TYPE = /^(?:application\/json|[a-z0-9!#$&^_.-]+\/[a-z0-9!#$&^_.+-]+\+json)$/;
const CHARSET = /^charset\s*=\s*"?(?:utf-8|utf8|us-ascii)"?$/;

export type BodyOptions = {
  /** The value of a body without a byte, in whatever form the headers announced it. Default: it is
   * refused. */
  readonly ofEmpty?: unknown;
};

/** Reads a JSON body of at most 256 KiB, and parses it. @throws as the two steps */
export const readJsonBody = async (request: IncomingMessage): Promise<unknown> =>
  parseJsonText(await readJsonText(request));

/**
 * The value of a body's text.
 *
 * @throws Problem `malformed-json`
 */
export const parseJsonText = (text: Buffer, { ofEmpty }: BodyOptions = {}): unknown =>
  text.length === 0 && ofEmpty !== undefined ? ofEmpty : parseJson(text, 'The body');

/**
 * Reads the text of a JSON body of at most 256 KiB. Bytes above the bound are read and dropped, so
 * that the client gets the answer and not a reset.
 *
 * @throws Problem `media-type-unsupported`, `body-too-large`; Error if the client disconnected, so
 *   that no answer can be sent
 */
export async function readJsonText(request: IncomingMessage, { ofEmpty }: BodyOptions = {}): Promise<Buffer> {
  const { headers } = request;
  const unreadable = faultOfHeaders(headers);
  // Only the end of a chunked body tells whether it is empty.
  const isSurelyFull = headers['transfer-encoding'] === undefined && Number(headers['content-length']) > 0;
  if (unreadable !== undefined && isSurelyFull) throw new Problem('media-type-unsupported', unreadable);
  const bytes = await readBytes(request);
  const isEmpty = bytes?.length === 0;
  if (isEmpty && ofEmpty !== undefined) return bytes;
  if (unreadable !== undefined && !(isEmpty && headers['content-type'] === undefined))
    throw new Problem('media-type-unsupported', unreadable);
  if (bytes === undefined)
    throw new Problem('body-too-large', `The body must have at most ${BODY_BYTES_MAX} bytes.`);
  return bytes;
}

function faultOfHeaders(headers: IncomingMessage['headers']): string | undefined {
  if (!isJsonType(headers['content-type'] ?? ''))
    return 'Send the header content-type: application/json (UTF-8).';
  if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
    return 'Send the body without a content-encoding.';
  return undefined;
}

export const isJsonType = (header: string): boolean => isTypeInUtf8(header, JSON_TYPE);

/** Whether a `content-type` header is of the type, with no other charset than UTF-8. */
export function isTypeInUtf8(header: string, type: RegExp): boolean {
  const [name = '', ...parameters] = header.toLowerCase().split(';');
  if (!type.test(name.trim())) return false;
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
    request.on('end', () => {
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
      // The request keeps its listeners for as long as its answer takes.
      chunks.length = 0;
    });
    request.on('error', reject);
    // Every request closes in the end; an error, which costs a stack, is made only if that was too
    // early.
    request.on('close', () => request.complete || reject(new Error('the client went away')));
  });
}
