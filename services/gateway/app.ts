import type { RequestListener } from 'node:http';
import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { CHECK_PATH } from '#shared/contracts/paths.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import { type BodyFault, BodyReads } from '#shared/http/body-reads.ts';
import { instanceOf } from '#shared/http/exchange-trace.ts';
import { InFlight } from '#shared/http/in-flight.ts';
import { type BaseProblem, problemBody } from '#shared/http/problem.ts';
import { BODY_BYTES_MAX, type JsonBody, readJsonBody } from '#shared/http/read-json-body.ts';
import { serveRoutes } from '#shared/http/serve-routes.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { BatchBodies } from './batches/batch-bodies.ts';
import { addHeaders, modeOf, type Request, type Response, send } from './edge/exchange.ts';
import { overloaded, Problem } from './edge/problem.ts';
import { problemOf } from './edge/problem-of.ts';
import type { GatewayMetrics } from './metrics.ts';
import { makeRoutes, type Dependencies as RouteDependencies } from './routes.ts';

/** Lists of watches and rule sets made at once, of all client apps; each holds up to four rule sets of 250 KB, parsed. */
const DOCUMENT_LISTS_MAX = 8;
const DOCUMENT_LISTS_WAITING_MAX = 128;

/**
 * Memory of the bodies of requests in flight, from their reading until they are published. A parsed body of the smallest
 * rules takes up to eight times the bytes of its text; a stored rule set is counted by what the cache counts.
 */
const MEMORY_PER_BYTE = 8;
export const IN_FLIGHT_BYTES = {
  max: 128 * 1024 * 1024,
  ofOneMax: MEMORY_PER_BYTE * BODY_BYTES_MAX,
} as const;

/** Bodies being read at once. */
export const BODY_READS_MAX = 256;

/** What the bounds on each client app add to the handlers' dependencies. */
type Bounds = Pick<
  RouteDependencies,
  | 'authenticate'
  | 'readBody'
  | 'holdMemory'
  | 'freeMemory'
  | 'openBatchBody'
  | 'openMembersBody'
  | 'resumeRequest'
  | 'documentLists'
>;

type Dependencies = Omit<RouteDependencies, Exclude<keyof Bounds, 'authenticate'>> & {
  readonly batchBodies: BatchBodies;
  readonly log: Logger;
  readonly metrics: Pick<GatewayMetrics, 'requestSeconds' | 'inFlight' | 'forwardedForIgnored'>;
  /** Requests answered at once, waiting ones included; more are refused before any work. */
  readonly inFlightMax: number;
  /** Request bodies being read at once, of all client apps. */
  readonly bodyReadsMax: number;
  /** From the beginning of a body's reading to its end. */
  readonly bodyTimeoutMs: number;
  /** Addresses of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
};

/**
 * The HTTP surface of the gateway, in the order of events: in-flight bound → route (`routes.ts`) → trace → the handler
 * (key → the client app's part of that bound → scope → body → limits → …). It does not listen.
 *
 * @example
 * const server = createServer(makeApp(deps)).listen(0);
 */
export function makeApp(deps: Dependencies): RequestListener {
  const { metrics } = deps;
  const inFlight = new InFlight({
    countMax: deps.inFlightMax,
    bytes: IN_FLIGHT_BYTES,
    observe: (count) => metrics.inFlight.set(count),
  });
  return serveRoutes({
    routes: makeRoutes({ ...deps, ...makeBounds(deps, inFlight) }),
    problems: { routeNotFound, methodNotAllowed, problemOf },
    enter(_request, response) {
      if (!inFlight.enter(response)) throw tooManyRequests();
    },
    startTimer(route) {
      const stop = metrics.requestSeconds.startTimer({ route });
      return (response, status) => stop({ status, mode: modeOf(response) });
    },
    sendProblem,
    trustedProxies: deps.trustedProxies,
    forwardedForIgnored: metrics.forwardedForIgnored,
    log: deps.log,
  });
}

const routeNotFound = (): Problem =>
  new Problem(
    'route-not-found',
    `The path does not exist; a check is POST ${CHECK_PATH}, and GET /docs describes the API.`,
  );

const methodNotAllowed = (allow: string): Problem =>
  new Problem('method-not-allowed', `Only ${allow} is allowed here.`, { headers: { allow } });

const sendProblem = (response: Response, problem: BaseProblem<string>): void =>
  send(
    response,
    problem.status,
    'application/problem+json',
    problemBody(problem, instanceOf(response, problem.members['requestId'])),
    problem.headers,
  );

/**
 * The bounds on each client app once its key is known: requests in flight, and separately the bodies that are still
 * arriving.
 */
function makeBounds(
  { authenticate, applyLimits, bodyReadsMax, bodyTimeoutMs, batchBodies }: Dependencies,
  inFlight: InFlight,
): Bounds {
  const bodies = new BodyReads({ countMax: bodyReadsMax, timeoutMs: bodyTimeoutMs, fail: bodyProblem });
  const resumeRequest = (response: Response, app: AppAccess): void => {
    if (!inFlight.enter(response)) throw tooManyRequests();
    if (!inFlight.assign(response, app)) throw tooManyOfApp();
  };
  const arrive = async (request: Request, response: Response, app: AppAccess): Promise<JsonBody> => {
    // Most bodies arrive together with the headers.
    if (request.complete) return readJsonBody(request);
    inFlight.leave(response);
    const body = await bodies.read(app, () => readJsonBody(request));
    resumeRequest(response, app);
    return body;
  };
  const holdMemory = (response: Response, bytes: number): void => {
    if (!inFlight.hold(response, bytes)) throw tooManyOfApp();
  };
  return {
    async authenticate(request, address) {
      const caller = await authenticate(request, address);
      const { res } = request as Request;
      // Without the limits: this bound protects the gateway, so a refusal by it must cost no work.
      if (res && !inFlight.assign(res, caller.app)) throw tooManyOfApp();
      return caller;
    },
    holdMemory,
    freeMemory: (response) => inFlight.free(response),
    async readBody(request, response, app) {
      try {
        const body = await arrive(request, response, app);
        if (body.ok) holdMemory(response, body.bytes * MEMORY_PER_BYTE);
        return body;
      } catch (refusal) {
        if (!(refusal instanceof Problem)) throw refusal;
        // The rest of a body that is still arriving is not read: its connection ends with the answer.
        if (!request.complete) addHeaders(response, { connection: 'close' });
        await applyLimits({ app, bucket: 'per-second' }, response);
        throw refusal;
      }
    },
    openBatchBody(request, response, app) {
      inFlight.leave(response);
      return batchBodies.open(request, app);
    },
    async openMembersBody(request, response, app) {
      const body = await batchBodies.openInTurn(request, app);
      inFlight.leave(response);
      return body;
    },
    resumeRequest,
    documentLists: new FairTaskQueue({
      atOnceMax: DOCUMENT_LISTS_MAX,
      waitingMax: DOCUMENT_LISTS_WAITING_MAX,
      refusal: 'too many lists are waiting',
    }),
  };
}

const tooManyRequests = () => overloaded('Too many requests are being answered.');
const tooManyOfApp = () => overloaded('Too many requests of this client app are being answered.');

const bodyProblem = (fault: BodyFault): Problem =>
  fault === 'too-slow'
    ? new Problem('request-timeout', 'The body did not arrive in time.')
    : overloaded('Too many requests of this client app are still sending their bodies.');
