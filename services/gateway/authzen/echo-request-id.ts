import { addHeaders, type Request, type Response } from '../edge/exchange.ts';

const PREFIX = '/access/v1/';
/** Visible ASCII. */
const REQUEST_ID = /^[\u0021-\u007e]{1,256}$/;

/** Repeats the `X-Request-ID` of a request in every answer to it, a refusal too, as AuthZEN wants;
 * on the paths of the standard alone. */
export function echoRequestId({ url, headers }: Request, response: Response): void {
  if (!url.startsWith(PREFIX)) return;
  const id = headers['x-request-id'];
  if (typeof id === 'string' && REQUEST_ID.test(id)) addHeaders(response, { 'x-request-id': id });
}
