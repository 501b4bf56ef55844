import type { ClientErrorAnswer, ClientFault } from '#shared/http/http-server.ts';
import { COMMON_HEADERS } from './answer.ts';

const ANSWERS = {
  malformed: { status: 400, body: 'This is not HTTP/1.1.\n' },
  'headers-too-large': { status: 431, body: 'The headers are too large.\n' },
  timeout: { status: 408, body: 'The request took too long.\n' },
} as const;

/** The answer to bytes that are not a valid request. The portal's page never sends such, so plain text is enough. */
export const describeClientError = (fault: ClientFault): ClientErrorAnswer => ({
  ...ANSWERS[fault],
  headers: { ...COMMON_HEADERS, 'content-type': 'text/plain; charset=utf-8' },
});
