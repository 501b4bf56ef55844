import type { RequestListener } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import { describeError } from '#shared/errors.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { traceIdOf } from '#shared/telemetry/traceparent.ts';
import { withSpan } from '#shared/telemetry/tracing.ts';
import { makeForwardedForNotice } from './client-address.ts';
import { instanceOf, setTrace, traceOf } from './exchange-trace.ts';
import type { BaseProblem } from './problem.ts';

export type Handle = (request: Request, response: Response) => Promise<void>;

/** One method of one path. A path may have several methods, each an entry of its own. */
export type Route = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** A RegExp where the handler itself decodes a segment. */
  readonly path: string | RegExp;
  /** The route's name in metrics and spans. */
  readonly name: string;
  readonly handle: Handle;
};

/** The problems that the router itself answers with. */
export type RoutingProblems = {
  readonly routeNotFound: () => BaseProblem<string>;
  readonly methodNotAllowed: (allow: string) => BaseProblem<string>;
  /** The problem document for any error. */
  readonly problemOf: (error: unknown) => BaseProblem<string>;
};

export type ServeOptions = {
  readonly routes: readonly Route[];
  readonly problems: RoutingProblems;
  /** Runs before the route is looked up. @throws the error that refuses the request */
  readonly enter: (request: Request, response: Response) => void;
  /** Called when a request begins; the result is called when its answer has ended. */
  readonly startTimer: (route: string) => (response: Response, status: string) => void;
  readonly sendProblem: (response: Response, problem: BaseProblem<string>) => void;
  /** Mounts handlers that are not routes of the API, behind all routes. */
  readonly mountOthers?: (app: Express) => void;
  /** `X-Forwarded-*` is trusted only from these addresses. */
  readonly trustedProxies: readonly string[];
  readonly forwardedForIgnored: { readonly inc: () => void };
  readonly log: Logger;
};

/** The route's name of a request that no route takes. */
const NO_ROUTE = 'none';

/**
 * Serves a table of routes, for every service in the same order: notice of an ignored `X-Forwarded-For` → `enter` →
 * route → metric and span → handler. A path without the method is 405 with `Allow` (HEAD and OPTIONS too), an unknown
 * path 404, and a thrown error becomes its problem document. It does not listen.
 *
 * @example
 * const listener = serveRoutes({ routes: [{ method: 'get', path: '/chains', name: 'chains', handle }], … });
 */
export function serveRoutes(options: ServeOptions): RequestListener {
  const { routes, problems, enter, mountOthers } = options;
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
  const paths = [...Map.groupBy(routes, ({ path }) => String(path)).values()].flatMap((entries) => {
    const path = entries[0]?.path;
    return path === undefined
      ? []
      : [{ path, entries, refuse: answered(options, NO_ROUTE, notAllowed(entries, problems)) }];
  });
  for (const { path, entries, refuse } of paths) {
    // Before the routes: Express would answer HEAD by GET.
    app.head(path, refuse);
    for (const { method, name, handle } of entries) app[method](path, answered(options, name, handle));
  }
  // After all routes: a path may also match the pattern of another route.
  for (const { path, refuse } of paths) app.all(path, refuse);
  mountOthers?.(app);
  const nothingHere = answered(options, NO_ROUTE, async () => {
    throw problems.routeNotFound();
  });
  app.use(nothingHere);
  app.use((error: unknown, _request: Request, response: Response, _next: unknown) =>
    // The router throws a URIError for an invalid percent escape.
    fail(options, response, error instanceof URIError ? problems.routeNotFound() : error),
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

function notAllowed(entries: readonly Route[], { methodNotAllowed }: RoutingProblems): Handle {
  const allow = entries.map(({ method }) => method.toUpperCase()).join(', ');
  return async () => {
    throw methodNotAllowed(allow);
  };
}

/** Runs a handler inside a trace of our own, linked to the client's, and turns its error into a problem document. */
function answered(options: ServeOptions, route: string, handle: Handle): Handle {
  return async (request, response) => {
    const stop = options.startTimer(route);
    response.once('close', () => stop(response, statusOf(response)));
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

function fail({ log, problems, sendProblem }: ServeOptions, response: Response, error: unknown): void {
  if (response.destroyed) return;
  const problem = problems.problemOf(error);
  if (problem.code === 'internal')
    log.error(
      {
        instance: instanceOf(response, problem.members['requestId']),
        traceId: traceIdOf(traceOf(response)),
        error: describeError(error),
        stack: error instanceof Error ? error.stack : '',
      },
      'bug',
    );
  // An answer that has begun cannot be taken back: the connection is cut, so that no client takes half for whole.
  if (response.headersSent) response.destroy();
  else sendProblem(response, problem);
}
