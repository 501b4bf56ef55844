import type { Request, Response } from 'express';
import { newTraceparent, traceIdOf } from '#shared/telemetry/tracing.ts';

export type { Request, Response };

/** What the gateway keeps of one request and its answer, beside what Express has. */
type Exchange = { traceparent: string };

const exchanges = new WeakMap<Response, Exchange>();

/** Gives the exchange its trace: our own, whatever the client sent. */
export function setTrace(response: Response, traceparent: string): void {
  exchanges.set(response, { traceparent });
}

export function traceOf(response: Response): string {
  const known = exchanges.get(response);
  if (known) return known.traceparent;
  const traceparent = newTraceparent();
  setTrace(response, traceparent);
  return traceparent;
}

/** The `instance` of a problem: the request where it has an id, else the trace. */
export const instanceOf = (response: Response, requestId: unknown): string =>
  `/requests/${typeof requestId === 'string' ? requestId : traceIdOf(traceOf(response))}`;

/** Writes an answer of JSON text that is final already. */
export function sendJson(
  response: Response,
  status: number,
  json: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
    ...headers,
  });
  response.end(json);
}

/** Sets headers that every later answer of this exchange carries, problems too. */
export function setHeaders(response: Response, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}
