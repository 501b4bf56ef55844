import type { RequestListener } from 'node:http';
import {
  type ClientErrorAnswer,
  type ClientFault,
  type HttpServer,
  type HttpServerOptions,
  startHttpServer,
} from '#shared/http/http-server.ts';
import { PROBLEMS, Problem, problemBody } from '#shared/http/problem.ts';
import { newTraceparent, traceIdOf } from '#shared/telemetry/traceparent.ts';

export type Server = HttpServer;
type ServerOptions = Omit<HttpServerOptions, 'describeClientError'>;

const CLIENT_FAULTS = {
  'headers-too-large': { code: 'headers-too-large', detail: 'The headers are too large.' },
  timeout: { code: 'request-timeout', detail: 'The request took too long.' },
  malformed: { code: 'malformed-request', detail: 'This is not HTTP/1.1.' },
} as const;

/**
 * Serves HTTP/1.1; bytes that are not an HTTP request get a problem document too.
 *
 * @example
 * const server = scope.use(await startServer(makeApp(deps), config.http));
 */
export const startServer = (listener: RequestListener, options: ServerOptions): Promise<Server> =>
  startHttpServer(listener, { ...options, describeClientError });

function describeClientError(fault: ClientFault): ClientErrorAnswer {
  const { code, detail } = CLIENT_FAULTS[fault];
  return {
    status: PROBLEMS[code].status,
    headers: { 'rolecall-version': '1', 'content-type': 'application/problem+json' },
    body: problemBody(new Problem(code, detail), `/requests/${traceIdOf(newTraceparent())}`),
  };
}
