import type { Request, Response } from 'express';
import type { Delivery } from '#shared/contracts/webhooks/delivery.ts';
import { overloaded, retryAfter } from '#shared/http/problem.ts';
import type { Access } from './operation.ts';

export type { Request, Response };

export type Headers = Readonly<Record<string, string>>;

/** The gateway's data of one exchange, in Express's `response.locals`. */
type Locals = {
  headers?: Record<string, string>;
  mode?: Delivery['mode'];
  access?: Access;
  hold?: HoldAnswer;
};

/** Counts a large answer; false if there is no room. `isDue`: older ones make room for it. */
type HoldAnswer = (bytes: number, isDue: boolean) => boolean;

/** Smaller answers cost less than their connection. */
const LARGE_ANSWER_BYTES = 16 * 1024;

const localsOf = (response: Response): Locals => response.locals;

/** Set on every answer, whatever it is. */
export const COMMON_HEADERS = {
  'rolecall-version': '1',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** Notes how the client of this exchange learns its result, once its body is known. */
export function noteMode(response: Response, mode: Delivery['mode']): void {
  localsOf(response).mode = mode;
}

/** `none`: the exchange is not a check, or ended before its body was known. */
export const modeOf = (response: Response): Delivery['mode'] | 'none' => localsOf(response).mode ?? 'none';

/** Notes by what a large answer is counted until the client has read it. */
export function noteHold(response: Response, hold: HoldAnswer): void {
  localsOf(response).hold = hold;
}

export function noteAccess(response: Response, access: Access): void {
  localsOf(response).access = access;
}

/** @throws Error if nothing was noted: an operation without a declared access serves nobody */
export function accessOf(response: Response): Access {
  const { access } = localsOf(response);
  if (access === undefined) throw new Error('the operation declares no access');
  return access;
}

/** Adds headers that the answer of this exchange will carry, a problem too. */
export function addHeaders(response: Response, headers: Headers): void {
  const locals = localsOf(response);
  locals.headers = locals.headers ? Object.assign(locals.headers, headers) : { ...headers };
}

/** Writes the headers of an answer whose body follows piece by piece. */
export function begin(response: Response, status: number, type: string, headers: Headers = {}): void {
  response.writeHead(status, {
    ...COMMON_HEADERS,
    ...localsOf(response).headers,
    'content-type': type,
    ...headers,
  });
}

/**
 * Writes a whole answer, all of its headers at once: Node is far slower where they are set one by
 * one.
 *
 * @throws Problem `overloaded` if too many large answers have not been read yet
 */
export function send(
  response: Response,
  status: number,
  type: string,
  body: string,
  headers: Headers = {},
): void {
  const length = Buffer.byteLength(body);
  const { hold } = localsOf(response);
  // What a request has changed is told, if need be in place of older answers.
  const isDue = response.req.method !== 'GET';
  if (length > LARGE_ANSWER_BYTES && hold?.(length, isDue) === false)
    throw overloaded('Too many of your answers have not been read yet.');
  begin(response, status, type, { 'content-length': String(length), ...headers });
  // As many bytes as characters: plain ASCII, which Node writes in one piece with the headers and
  // without encoding.
  response.end(body, length === body.length ? 'latin1' : 'utf8');
}

export function sendNothing(response: Response, status: 202 | 204 = 204): void {
  const length = status === 204 ? {} : { 'content-length': '0' };
  response.writeHead(status, { ...COMMON_HEADERS, ...localsOf(response).headers, ...length });
  response.end();
}

/** Writes the acknowledgement of a check or batch, with the place of its result. */
export const sendAccepted = (response: Response, acknowledgement: object, location: string): void =>
  sendJson(response, 202, JSON.stringify(acknowledgement), { location, ...retryAfter(1_000) });

/** Writes an answer of JSON text that is final already. */
export const sendJson = (response: Response, status: number, json: string, headers?: Headers): void =>
  send(response, status, 'application/json', json, headers);
