import type { RequestListener } from 'node:http';
import express from 'express';
import { describeError } from '#shared/errors.ts';
import { type BodyFault, BodyReads } from '#shared/http/body-reads.ts';
import { makeForwardedForNotice } from '#shared/http/client-address.ts';
import { InFlight } from '#shared/http/in-flight.ts';
import { problemBody } from '#shared/http/problem.ts';
import { readJsonBody } from '#shared/http/read-json-body.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { traceIdOf } from '#shared/telemetry/traceparent.ts';
import { withSpan } from '#shared/telemetry/tracing.ts';
import { type Dependencies as AcceptDependencies, CHECK_PATH, makeAcceptCheck } from './accept-check.ts';
import { DOCS_POLICY, HOME_PAGE, makeDocsPage } from './docs-page.ts';
import {
  type Headers,
  instanceOf,
  modeOf,
  type Request,
  type Response,
  send,
  sendJson,
  setTrace,
  traceOf,
} from './exchange.ts';
import { type Dependencies as ListChainsDependencies, makeListChains } from './list-chains.ts';
import type { GatewayMetrics } from './metrics.ts';
import { DOCS_PATH, makeOpenApi, OPENAPI_PATH } from './openapi.ts';
import { Problem } from './problem.ts';
import { problemOf } from './problem-of.ts';
import { makeReadCheck, type Dependencies as ReadDependencies } from './read-check.ts';

export type Dependencies = Omit<AcceptDependencies, 'readBody'> &
  ReadDependencies &
  ListChainsDependencies & {
    readonly log: Logger;
    readonly metrics: Pick<GatewayMetrics, 'requestSeconds' | 'inFlight' | 'forwardedForIgnored'>;
    /** Requests answered at once, waiting ones included; more are refused before any work. */
    readonly inFlightMax: number;
    /** Request bodies being read at once, of all client apps. */
    readonly bodyReadsMax: number;
    /** From the beginning of a body's reading to its end. */
    readonly bodyTimeoutMs: number;
    /** Addresses of proxies whose `X-Forwarded-For` is believed. */
    readonly trustedProxies: readonly string[];
  };

type Handle = (request: Request, response: Response) => Promise<void>;

/** The documents are the same for everybody. */
const PUBLIC = { 'cache-control': 'public, max-age=300' } as const;

/** Where the API is described, for machines too (RFC 8631). */
const HOME_LINKS = '<docs>; rel="service-doc", <openapi.json>; rel="service-desc"';

/** One segment and nothing after it; it is decoded by the handler, once the key is known to be right. */
const RESPONSE_PATH = /^\/access-control\/check-roles\/responses\/[^/]+$/;

/**
 * The HTTP surface of the gateway, in the order of events: trace → in-flight bound → route → the handler
 * (key → the client app's part of that bound → scope → body → limits → …). It does not listen.
 *
 * @example
 * const server = createServer(makeApp(deps)).listen(0);
 */
export function makeApp(deps: Dependencies): RequestListener {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');
  app.set('trust proxy', [...deps.trustedProxies]);
  app.set('query parser', false);
  const inFlight = new InFlight({
    countMax: deps.inFlightMax,
    observe: (count) => deps.metrics.inFlight.set(count),
  });
  const noticeForwardedFor = makeForwardedForNotice({
    log: deps.log,
    count: deps.metrics.forwardedForIgnored,
  });
  app.use((request: Request, response: Response, next: () => void) => {
    noticeForwardedFor(request);
    if (!inFlight.enter(response)) throw tooManyRequests();
    next();
  });
  const bounded = { ...deps, ...makeBounds(deps, inFlight) };

  const serve = (path: string | RegExp, route: string, method: 'get' | 'post', handle: Handle) => {
    const methodNotAllowed: Handle = async () => {
      const allow = method.toUpperCase();
      throw new Problem('method-not-allowed', `Only ${allow} is allowed here.`, { headers: { allow } });
    };
    // Before the route itself: Express would answer HEAD by GET, and OPTIONS on its own.
    app.head(path, answered(deps, route, methodNotAllowed));
    app[method](path, answered(deps, route, handle));
    app.all(path, answered(deps, route, methodNotAllowed));
  };
  serve(CHECK_PATH, 'check-roles', 'post', makeAcceptCheck(bounded));
  serve(RESPONSE_PATH, 'responses', 'get', makeReadCheck(bounded));
  serve('/access-control/chains', 'chains', 'get', makeListChains(bounded));
  const document = makeOpenApi(deps.publicBaseUrl);
  const [documentJson, docsPage] = [JSON.stringify(document), makeDocsPage(document)];
  serve(OPENAPI_PATH, 'openapi', 'get', async (_request, response) =>
    sendJson(response, 200, documentJson, PUBLIC),
  );
  const servePage = (path: string, route: string, page: string, headers: Headers = {}) =>
    serve(path, route, 'get', async (_request, response) =>
      send(response, 200, 'text/html; charset=utf-8', page, {
        ...PUBLIC,
        'content-security-policy': DOCS_POLICY,
        ...headers,
      }),
    );
  servePage(DOCS_PATH, 'docs', docsPage);
  servePage('/', 'home', HOME_PAGE, { link: HOME_LINKS });
  const nothingHere = answered(deps, 'none', async () => {
    throw new Problem('route-not-found', 'There is nothing at this path; GET /docs describes the API.');
  });
  app.use(nothingHere);
  app.use((error: unknown, _request: Request, response: Response, _next: unknown) =>
    fail(deps, response, error),
  );
  // A target without any path (`GET http://`) passes the router by.
  return (request, response) =>
    app(request as Request, response as Response, () =>
      nothingHere(request as Request, response as Response),
    );
}

/**
 * What bounds each client app, from the moment its key is known: the requests it has in flight, and apart from these
 * the bodies it is still sending.
 */
function makeBounds(
  { authenticate, bodyReadsMax, bodyTimeoutMs }: Dependencies,
  inFlight: InFlight,
): Pick<AcceptDependencies, 'authenticate' | 'readBody'> {
  const bodies = new BodyReads({ countMax: bodyReadsMax, timeoutMs: bodyTimeoutMs, fail: bodyProblem });
  return {
    async authenticate(request, address) {
      const caller = await authenticate(request, address);
      const { res } = request as Request;
      if (res && !inFlight.assign(res, caller.app.clientId)) throw tooManyOfApp();
      return caller;
    },
    async readBody(request, response, clientId) {
      // The usual one came with its headers.
      if (request.complete) return readJsonBody(request);
      inFlight.leave(response);
      const body = await bodies.read(clientId, () => readJsonBody(request));
      if (!inFlight.enter(response)) throw tooManyRequests();
      if (!inFlight.assign(response, clientId)) throw tooManyOfApp();
      return body;
    },
  };
}

const overloaded = (detail: string, headers = {}): Problem =>
  new Problem('overloaded', detail, { headers: { ...retryAfter(1_000), ...headers } });

const tooManyRequests = () => overloaded('Too many requests are being answered.');
const tooManyOfApp = () => overloaded('Too many requests of this client app are being answered.');

/** What still comes of such a body is not read: its connection ends with the answer. */
function bodyProblem(fault: BodyFault): Problem {
  const headers = { connection: 'close' };
  return fault === 'too-slow'
    ? new Problem('request-timeout', 'The body did not arrive in time.', { headers })
    : overloaded('Too many requests of this client app are still sending their bodies.', headers);
}

/** Runs a handler inside a trace of our own, linked to the client's, and turns what it throws into a problem. */
function answered(deps: Dependencies, route: string, handle: Handle) {
  return async (request: Request, response: Response): Promise<void> => {
    const stop = deps.metrics.requestSeconds.startTimer({ route });
    response.once('close', () => stop({ status: statusOf(response), mode: modeOf(response) }));
    const { traceparent } = request.headers;
    const span = {
      kind: 'server',
      links: [typeof traceparent === 'string' ? traceparent : undefined],
      attributes: { 'http.request.method': request.method, 'http.route': route },
    } as const;
    await withSpan(`${request.method} ${route}`, span, async (own, note) => {
      setTrace(response, own);
      await handle(request, response).catch((error: unknown) => fail(deps, response, error));
      const { statusCode } = response;
      note({
        'http.response.status_code': statusCode,
        ...(statusCode >= 500 ? { 'error.type': String(statusCode) } : {}),
      });
    });
  };
}

/** What the metrics say of a client that went away before it had an answer. */
const statusOf = (response: Response): string => (response.headersSent ? String(response.statusCode) : '499');

function fail({ log }: Pick<Dependencies, 'log'>, response: Response, error: unknown): void {
  if (response.destroyed) return;
  const problem = problemOf(error);
  const instance = instanceOf(response, problem.members['requestId']);
  if (problem.code === 'internal')
    log.error(
      {
        instance,
        traceId: traceIdOf(traceOf(response)),
        error: describeError(error),
        stack: error instanceof Error ? error.stack : '',
      },
      'bug',
    );
  // An answer that has begun cannot be taken back: the connection is cut, so that nobody takes half for whole.
  if (response.headersSent) response.destroy();
  else
    send(
      response,
      problem.status,
      'application/problem+json',
      problemBody(problem, instance),
      problem.headers,
    );
}
