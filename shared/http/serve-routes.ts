import type { RequestListener } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import { describeError, type ServiceError } from '#shared/errors.ts';
import { makeFailureLog } from '#shared/telemetry/failure-log.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { traceIdOf } from '#shared/telemetry/traceparent.ts';
import { withSpan } from '#shared/telemetry/tracing.ts';
import { makeForwardedForNotice } from './client-address.ts';
import { clientOf, instanceOf, setTrace, traceOf } from './exchange-trace.ts';
import { Problem, problemOf } from './problem.ts';

/** The part of an `instance` that leads to it in the log. */
const lastPartOf = (instance: string): string => instance.slice(instance.lastIndexOf('/') + 1);

/** A segment of a request's path by its name in the route's path, decoded; empty for an invalid
 * percent escape. */
export type Param = (name: string) => string;

export type Handle = (request: Request, response: Response, param: Param) => Promise<void>;

/** One method of one path. A path may have several methods, each an entry of its own. */
export type Route = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** `/apps/:clientId`: a name stands for one segment, which is decoded only when the handler asks
   * for it. */
  readonly path: string;
  readonly name: string;
  readonly handle: Handle;
};

export type ServeOptions = {
  readonly routes: readonly Route[];
  /** The detail of `route-not-found`. */
  readonly routeNotFound: string;
  /** The problems of this service's errors, before those that all services have. */
  readonly ownProblemOf?: (error: ServiceError) => Problem | undefined;
  /** Runs before the route is looked up. @throws the error that refuses the request */
  readonly enter: (request: Request, response: Response) => void;
  /** Called when a request begins; the result is called when its answer has ended. */
  readonly startTimer: (route: string) => (response: Response, status: string) => void;
  readonly sendProblem: (response: Response, problem: Problem) => void;
  /** Mounts handlers that are not routes of the API, behind all routes. */
  readonly mountOthers?: (app: Express) => void;
  /** `X-Forwarded-*` is trusted only from these addresses. */
  readonly trustedProxies: readonly string[];
  readonly forwardedForIgnored: { readonly inc: () => void };
  /** Whether each request has a line in the log. */
  readonly logsAccess: boolean;
  readonly log: Logger;
};

type Serving = ServeOptions & { readonly logFailure: ReturnType<typeof makeFailureLog> };

/** The route's name of a request that no route takes. */
const NO_ROUTE = 'none';

/**
 * Serves a table of routes, for every service in the same order: notice of an ignored
 * `X-Forwarded-For` → `enter` → route → metric and span → handler. A path without the method is 405
 * with `Allow` (HEAD and OPTIONS too), an unknown path 404, and a thrown error becomes its problem
 * document. It does not listen.
 */
export function serveRoutes(given: ServeOptions): RequestListener {
  const options = { ...given, logFailure: makeFailureLog(given.log) };
  const { routes, enter, mountOthers } = options;
  const app = makeExpress(options.trustedProxies);
  const noticeForwardedFor = makeForwardedForNotice({
    log: options.log,
    count: options.forwardedForIgnored,
  });
  app.use((request: Request, response: Response, next: () => void) => {
    noticeForwardedFor(request);
    enter(request, response);
    next();
  });
  const paths = [...Map.groupBy(routes, ({ path }) => path)].map(([path, entries]) => {
    const allow = entries.map(({ method }) => method.toUpperCase()).join(', ');
    const refuse = answered(options, NO_ROUTE, async () => {
      throw new Problem('method-not-allowed', `Only ${allow} is allowed here.`, { headers: { allow } });
    });
    return { path: patternOf(path), entries, refuse };
  });
  for (const { path, entries, refuse } of paths) {
    // Before the routes: Express would answer HEAD by GET.
    app.head(path, refuse);
    for (const entry of entries) app[entry.method](path, answered(options, entry.name, handlerOf(entry)));
  }
  // After all routes: a path may also match the pattern of another route.
  for (const { path, refuse } of paths) app.all(path, refuse);
  mountOthers?.(app);
  const nothingHere = answered(options, NO_ROUTE, async () => {
    throw new Problem('route-not-found', options.routeNotFound);
  });
  app.use(nothingHere);
  app.use((error: unknown, _request: Request, response: Response, _next: unknown) =>
    fail(options, response, error),
  );
  // The router calls this for a request target without a path (`GET http://`).
  return (request, response) =>
    app(request as Request, response as Response, () =>
      nothingHere(request as Request, response as Response),
    );
}

function makeExpress(trustedProxies: readonly string[]): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');
  app.set('trust proxy', [...trustedProxies]);
  app.set('query parser', false);
  return app;
}

/** A path of plain characters stays text. Express would decode a named segment before the request is
 * authenticated, and takes other characters for patterns. */
const patternOf = (path: string): string | RegExp =>
  /^[\w/.~-]+$/.test(path)
    ? path
    : new RegExp(`^${path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')}$`);

function handlerOf({ path, handle }: Route): (request: Request, response: Response) => Promise<void> {
  const names = path.split('/');
  return (request, response) =>
    handle(request, response, (name) =>
      decodeSegment(request.path.split('/')[names.indexOf(`:${name}`)] ?? ''),
    );
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}

/** Runs a handler inside a trace of our own, linked to the client's, and turns its error into a
 * problem document. */
function answered(
  options: Serving,
  route: string,
  handle: (request: Request, response: Response) => Promise<void>,
): (request: Request, response: Response) => Promise<void> {
  return async (request, response) => {
    const stop = options.startTimer(route);
    const beganMs = performance.now();
    response.once('close', () => {
      stop(response, statusOf(response));
      if (options.logsAccess) logAccess(options.log, route, beganMs, request, response);
    });
    const { traceparent } = request.headers;
    const span = {
      kind: 'server',
      links: [typeof traceparent === 'string' ? traceparent : undefined],
      attributes: { 'http.request.method': request.method, 'http.route': route },
    } as const;
    await withSpan(`${request.method} ${route}`, span, async (own, note) => {
      setTrace(response, own);
      await handle(request, response).catch((error: unknown) => fail(options, response, error));
      const { statusCode } = response;
      note({
        'http.response.status_code': statusCode,
        ...(statusCode >= 500 ? { 'error.type': String(statusCode) } : {}),
      });
    });
  };
}

/** The metrics' status of a client that went away before it had an answer. */
const statusOf = (response: Response): string => (response.headersSent ? String(response.statusCode) : '499');

const PATH_CHARS_MAX = 200;

/** Without the query and the address: a path has ids alone. */
function logAccess(
  log: Logger,
  route: string,
  beganMs: number,
  { method, path }: Request,
  response: Response,
): void {
  const traceId = traceIdOf(traceOf(response));
  const durationMs = Math.round(performance.now() - beganMs);
  const facts = {
    method,
    route,
    path: path.slice(0, PATH_CHARS_MAX),
    status: statusOf(response),
    durationMs,
  };
  log.info({ ...facts, clientId: clientOf(response), traceId }, 'request');
}

function fail(
  { log, logFailure, ownProblemOf, sendProblem }: Serving,
  response: Response,
  error: unknown,
): void {
  if (response.destroyed) return;
  const problem = problemOf(error, ownProblemOf);
  if (problem.status >= 500) {
    const facts = {
      instance: lastPartOf(instanceOf(response, problem.members['requestId'])),
      traceId: traceIdOf(traceOf(response)),
      clientId: clientOf(response),
      code: problem.code,
      cause: describeError(error),
    };
    if (problem.code !== 'internal') logFailure(facts);
    else log.error({ ...facts, stack: error instanceof Error ? error.stack : '' }, 'bug');
  }
  // An answer that has begun cannot be taken back: the connection is cut, so that no client takes
  // half for whole.
  if (response.headersSent) response.destroy();
  else sendProblem(response, problem);
}
