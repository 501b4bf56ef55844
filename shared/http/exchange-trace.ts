import type { Response } from 'express';
import { newTraceparent, traceIdOf } from '#shared/telemetry/traceparent.ts';

/** Kept in `response.locals`, where Express keeps the data of one exchange. */
const localsOf = (response: Response): { traceparent?: string; clientId?: string } => response.locals;

/** Gives the exchange its trace: our own, never the client's. */
export function setTrace(response: Response, traceparent: string): void {
  localsOf(response).traceparent = traceparent;
}

export function traceOf(response: Response): string {
  const locals = localsOf(response);
  locals.traceparent ??= newTraceparent();
  return locals.traceparent;
}

/** Notes whose request it is, for the log. */
export function setClient(response: Response, clientId: string): void {
  localsOf(response).clientId = clientId;
}

/** Undefined before the API key is known. */
export const clientOf = (response: Response): string | undefined => localsOf(response).clientId;

/** The `instance` of a problem: the request where it has an id, else the trace. */
export const instanceOf = (response: Response, requestId?: unknown): string =>
  `/requests/${typeof requestId === 'string' ? requestId : traceIdOf(traceOf(response))}`;
