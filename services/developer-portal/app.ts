import type { RequestListener } from 'node:http';
import type { Express } from 'express';
import type { Account } from '#shared/contracts/apps/client-app.ts';
import type { ServiceError } from '#shared/errors.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import { BodyReads } from '#shared/http/body-reads.ts';
import { addressKey, visitorOf } from '#shared/http/client-address.ts';
import { InFlight } from '#shared/http/in-flight.ts';
import { answerStatusOf, routesOf } from '#shared/http/operation.ts';
import { overloaded, Problem } from '#shared/http/problem.ts';
import { type Handle, type Param, serveRoutes } from '#shared/http/serve-routes.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { Dependencies as PortalDependencies } from './dependencies.ts';
import { describeBrowser } from './domain/describe-browser.ts';
import { permissionOf } from './domain/permissions.ts';
import { accountDraws } from './http/account-budget.ts';
import {
  COMMON_HEADERS,
  type Request,
  type Response,
  sendJson,
  sendProblem,
  sendText,
} from './http/answer.ts';
import { PathId } from './http/api.ts';
import {
  requireAccount,
  requireIdempotencyKey,
  requireOwnOrigin,
  requirePermission,
  sessionCookieOf,
  tokenOf,
} from './http/guard.ts';
import { makeOpenApi } from './http/openapi.ts';
import type { Download, Operation } from './http/operation.ts';
import { type Call, type Handlers, OPERATIONS, type OperationId } from './http/operations.ts';
import { readBody, readQuery } from './http/read-input.ts';
import { servePage } from './http/serve-page.ts';
import { makeTransfers } from './http/transfers.ts';
import type { PortalMetrics } from './metrics.ts';

type Dependencies = Pick<
  PortalDependencies,
  'sessions' | 'apps' | 'accounts' | 'throttle' | 'config' | 'once'
> & {
  readonly handlers: Handlers<OperationId>;
  readonly metrics: Pick<PortalMetrics, 'requestSeconds' | 'inFlight' | 'forwardedForIgnored'>;
  readonly log: Logger;
};

/**
 * The HTTP surface of the portal: the API of `operations.ts`, its OpenAPI document, and the page.
 * Order per request: route → bound on unfinished bodies → origin → session → the account's budget →
 * role in the app → body → in-flight bound → handler, which waits where many heavy reads run. It
 * does not listen.
 */
export function makeApp(deps: Dependencies): RequestListener {
  const { metrics } = deps;
  const bounds = makeBounds(deps);
  return serveRoutes({
    routes: routesOf<OperationId>(OPERATIONS, (id) => makeHandle(deps, bounds, id)),
    routeNotFound: NO_SUCH_PATH,
    ownProblemOf,
    enter: (_request, response) => void response.set(COMMON_HEADERS),
    startTimer(operation) {
      const stop = metrics.requestSeconds.startTimer({ operation });
      return (_response, status) => stop({ status });
    },
    sendProblem,
    mountOthers: (app) => mountPage(app, deps, bounds),
    trustedProxies: deps.config.http.trustedProxies,
    forwardedForIgnored: metrics.forwardedForIgnored,
    logsAccess: deps.config.http.logsAccess,
    log: deps.log,
  });
}

type Bounds = ReturnType<typeof makeBounds>;

function makeBounds({ config, metrics }: Dependencies) {
  const inFlight = new InFlight({
    countMax: config.http.inFlightMax,
    observe: (count) => metrics.inFlight.set(count),
  });
  return {
    bodies: new BodyReads({ countMax: BODY_READS_MAX, timeoutMs: BODY_TIMEOUT_MS }),
    transfers: makeTransfers(),
    /** By account. */
    heavyReads: new FairTaskQueue({
      atOnceMax: HEAVY_READS_MAX,
      waitingMax: HEAVY_READS_WAITING_MAX,
      refusal: 'too many reads of long lists are waiting',
    }),
    /** @throws Problem `overloaded` */
    enterInFlight({ ip }: Request, response: Response): void {
      if (!inFlight.enter(response) || !inFlight.assign(response, visitorOf(ip)))
        throw overloaded('Too many requests are being answered.');
    },
  };
}

/** The OpenAPI document, the way to the gateway's documentation, and the page wherever the API is
 * not. */
function mountPage(app: Express, { config }: Dependencies, { enterInFlight }: Bounds): void {
  const enter = (request: Request, response: Response, next: () => void) => {
    enterInFlight(request, response);
    next();
  };
  const document = JSON.stringify(makeOpenApi());
  app.get('/api/openapi.json', enter, (_request, response) => sendText(response, 200, document));
  app.use('/api', () => {
    throw new Problem('route-not-found', NO_SUCH_PATH);
  });
  app.use(enter);
  app.get(/^\/(docs(\/[\w-]+)?|openapi\.json)$/, ({ path }, response) =>
    response.redirect(307, config.gateway.publicUrl + path),
  );
  servePage(app);
}

const NO_SUCH_PATH = 'The path does not exist.';

function ownProblemOf({ code }: ServiceError): Problem | undefined {
  return code === 'not-found' || code === 'watch-not-found' ? notFound() : undefined;
}

const notFound = (): Problem =>
  new Problem('not-found', 'The resource does not exist, or belongs to another account.');

/** Bodies being received from all addresses, each at most 256 KiB. */
const BODY_READS_MAX = 256;
/** A browser sends a form's body in well under a second. */
const BODY_TIMEOUT_MS = 5_000;

/** Heavy reads at a time, of all accounts; each holds up to some megabytes. */
const HEAVY_READS_MAX = 8;
const HEAVY_READS_WAITING_MAX = 128;

function makeHandle(
  deps: Dependencies,
  { enterInFlight, bodies, transfers, heavyReads }: Bounds,
  id: OperationId,
): Handle {
  const operation: Operation = OPERATIONS[id];
  const handle = deps.handlers[id] as (call: unknown) => Promise<unknown>;
  return async (request, response, param) => {
    const readCall = () => authorize(deps, operation, { request, response, param });
    if (operation.upload !== undefined) {
      const call = await readCall();
      const answer = await transfers.receive(call.account.accountId, request, operation.upload, (upload) =>
        handle({ ...call, upload }),
      );
      return sendAnswer(response, operation, answer);
    }
    // A body may arrive slowly, so the request counts as in flight only once it has arrived.
    const sent = operation.body && (await bodies.read(visitorOf(request.ip), readCall));
    enterInFlight(request, response);
    const call = sent ?? (await readCall());
    const answer = operation.isHeavy
      ? await heavyReads.run(call.account.accountId, () => handle(call))
      : await handle(call);
    if (operation.download) await transfers.send(call.account.accountId, response, answer as Download);
    else sendAnswer(response, operation, answer);
  };
}

/** Sends what the schema of the answer names, and nothing else of what the handler has returned:
 * documents have hashes and secrets. */
const sendAnswer = (response: Response, operation: Operation, answer: unknown): void =>
  sendJson(response, answerStatusOf(operation), operation.answer?.parse(answer));

/** Checks origin, session, the account's budget and the role in the app, then parses body and
 * query.
 * @throws Problem for the first failed check */
async function authorize(
  deps: Dependencies,
  operation: Operation,
  { request, response, ...exchange }: { request: Request; response: Response; param: Param },
): Promise<Call<OperationId>> {
  const { access, method, isIdempotent, needs } = operation;
  if (method !== 'get') requireOwnOrigin(request, deps.config.origin);
  const token = tokenOf(request, deps.config.origin);
  const account = access === 'public' ? NO_ACCOUNT : await requireAccount(deps, token, operation);
  const draws = accountDraws(operation, account);
  if (draws.length > 0) await deps.throttle.take(draws);
  const param = (name: string): string => {
    const value = exchange.param(name);
    // A name with a schema of its own is judged by the handler, with the body.
    if (!operation.params?.[name] && !PathId.safeParse(value).success) throw notFound();
    return value;
  };
  const permission = permissionOf(operation);
  const { app, owner } =
    permission === undefined
      ? { app: undefined, owner: account }
      : await requirePermission(deps, account, param('clientId'), permission, needs);
  const idempotencyKey = isIdempotent ? requireIdempotencyKey(request) : '';
  const origin = {
    address: addressKey(request.ip),
    browser: describeBrowser(request.headers['user-agent']),
  };
  const body: unknown = operation.body && (await readBody(request, operation.body));
  return {
    account,
    app: app as never,
    owner,
    token,
    idempotencyKey,
    once: (fresh, execute, step = '') =>
      deps.once(
        {
          accountId: account.accountId,
          operation: `${method} ${operation.path} ${step}`,
          key: idempotencyKey,
          content: [request.path, body],
        },
        fresh,
        execute,
      ),
    ...origin,
    visitor: visitorOf(request.ip),
    body: body as never,
    query: (operation.query && readQuery(request, operation.query)) as never,
    upload: undefined as never,
    param,
    async setSession(newAccount) {
      if (token !== undefined) await deps.sessions.close(token);
      setCookie(deps, response, newAccount && (await deps.sessions.open(newAccount, origin)));
    },
  };
}

/** Of public operations, which use none. */
const NO_ACCOUNT = Object.freeze({ accountId: '' }) as Account;

function setCookie({ config }: Dependencies, response: Response, token: string | undefined): void {
  const { name, secure } = sessionCookieOf(response.req, config.origin);
  response.cookie(name, token ?? '', {
    httpOnly: true,
    sameSite: 'strict',
    path: '/',
    secure,
    maxAge: token === undefined ? 0 : config.session.lifeMsMax,
    encode: (value) => value,
  });
}
