import type { RequestListener } from 'node:http';
import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { CHECK_PATH } from '#shared/contracts/paths.ts';
import { type ServiceError, sentenceOf } from '#shared/errors.ts';
import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import { FairTicks } from '#shared/fairness/fair-ticks.ts';
import { BodyReads } from '#shared/http/body-reads.ts';
import { addressKey } from '#shared/http/client-address.ts';
import { setClient } from '#shared/http/exchange-trace.ts';
import { InFlight } from '#shared/http/in-flight.ts';
import { invalidBody, overloaded, Problem, problemAnswer, retryAfter } from '#shared/http/problem.ts';
import { BODY_BYTES_MAX, parseJsonText, readJsonText } from '#shared/http/read-json-body.ts';
import { serveRoutes } from '#shared/http/serve-routes.ts';
import { echoRequestId } from './authzen/echo-request-id.ts';
import type { Bounds, ReadBody, Services } from './dependencies.ts';
import { addHeaders, modeOf, noteHold, type Request, type Response, send } from './edge/exchange.ts';
import { makeRoutes } from './routes.ts';

/** Large documents and results, and lists of documents, answered at once, of all client apps; each
 * holds up to four rule sets of 250 KB, parsed. */
const DOCUMENT_LISTS_MAX = 8;
const DOCUMENT_LISTS_WAITING_MAX = 128;

/**
 * Memory of the bodies of requests in flight, from their reading until they are published. A parsed
 * body of the smallest rules takes up to eight times the bytes of its text; a stored rule set is
 * counted as the cache counts them.
 */
const MEMORY_PER_BYTE = 8;
export const IN_FLIGHT_BYTES = {
  max: 128 * 1024 * 1024,
  ofOneMax: MEMORY_PER_BYTE * BODY_BYTES_MAX,
} as const;

/** How long bodies that have arrived are taken up, and large ones received, in one tick of the event
 * loop. */
const TAKING_UP_MS_PER_TICK = 2;

/** Bodies being read at once. */
export const BODY_READS_MAX = 256;

/**
 * The HTTP surface of the gateway, in the order of events: in-flight bound → route (`routes.ts`) →
 * trace → the handler (key → the client app's part of that bound → scope → body → limits → …). It
 * does not listen.
 */
export function makeApp(deps: Services): RequestListener {
  const { metrics } = deps;
  const inFlight = new InFlight({
    countMax: deps.inFlightMax,
    bytes: IN_FLIGHT_BYTES,
    observe: (count) => metrics.inFlight.set(count),
  });
  return serveRoutes({
    routes: makeRoutes({ ...deps, ...makeBounds(deps, inFlight) }),
    routeNotFound: `The path does not exist; a check is POST ${CHECK_PATH}, and GET /docs describes the API.`,
    ownProblemOf,
    enter(request, response) {
      echoRequestId(request, response);
      if (!inFlight.enter(response)) throw tooManyRequests();
      noteHold(response, (bytes, isDue) =>
        inFlight.holdAnswer(response, bytes, { visitor: visitorAt(request.ip), isDue }),
      );
    },
    startTimer(route) {
      const stop = metrics.requestSeconds.startTimer({ route });
      return (response, status) => stop({ status, mode: modeOf(response) });
    },
    sendProblem,
    trustedProxies: deps.trustedProxies,
    forwardedForIgnored: metrics.forwardedForIgnored,
    logsAccess: deps.logsAccess,
    log: deps.log,
  });
}

/** All who have no account stand together where customers have theirs: however many addresses ask
 * for documents and do not read them, customers' requests have their memory. */
const visitorAt = (address: string | undefined): AppOwner => ({
  accountId: 'visitors',
  clientId: addressKey(address),
});

/** A budget of writes is the only one that refuses by a `ServiceError` here. */
function ownProblemOf(error: ServiceError): Problem | undefined {
  switch (error.code) {
    case 'rate-limited':
      return new Problem('rate-limited', 'This client app has reached its daily limit of writes.', {
        members: { 'violated-policies': ['writes-per-day'] },
        headers: retryAfter(error.retryAfterMs ?? 0),
      });
    case 'rule-set-unknown':
      return invalidBody([{ pointer: '/ruleSet', code: error.code, detail: sentenceOf(error) }]);
    default:
      return undefined;
  }
}

const sendProblem = (response: Response, problem: Problem): void =>
  send(
    response,
    problem.status,
    'application/problem+json',
    problemAnswer(problem, response),
    problem.headers,
  );

/**
 * The bounds on each client app once its key is known: requests in flight, and separately the
 * bodies that are still arriving.
 */
function makeBounds(
  { authenticate, bodyReadsMax, bodyTimeoutMs, batchBodies }: Services,
  inFlight: InFlight,
): Bounds & Pick<Services, 'authenticate'> {
  const bodies = new BodyReads({ countMax: bodyReadsMax, timeoutMs: bodyTimeoutMs });
  const takingUp = new FairTicks({ msPerTick: TAKING_UP_MS_PER_TICK });
  const takeTurn = (app: AppAccess): Promise<void> => takingUp.turn(app);
  const resumeRequest = (response: Response, app: AppAccess): void => {
    if (!inFlight.enter(response)) throw tooManyRequests();
    if (!inFlight.assign(response, app)) throw tooManyOfApp();
  };
  const arrive: ReadBody<Buffer> = async (request, response, app, options) => {
    // Most bodies arrive together with the headers.
    if (request.complete) return readJsonText(request, options);
    inFlight.leave(response);
    const body = await bodies
      .read(app, () => readJsonText(request, options))
      .catch((refusal: unknown) => {
        // Also if a limit refuses the request instead: the rest of the body is not read.
        if (refusal instanceof Problem && refusal.headers['connection'] === 'close')
          addHeaders(response, { connection: 'close' });
        throw refusal;
      });
    resumeRequest(response, app);
    return body;
  };
  const holdMemory = (response: Response, bytes: number): void => {
    if (!inFlight.hold(response, bytes)) throw tooManyOfApp();
  };
  return {
    async authenticate(request, address, options) {
      const caller = await authenticate(request, address, options);
      const { res } = request as Request;
      // Without the limits: this bound protects the gateway, so a refusal by it must cost no work.
      if (!res) return caller;
      setClient(res, caller.app.clientId);
      if (!inFlight.assign(res, caller.app)) throw tooManyOfApp();
      return caller;
    },
    holdMemory,
    takeTurn,
    freeMemory: (response) => inFlight.free(response),
    async readBody(request, response, app, options) {
      const text = await arrive(request, response, app, options);
      // Before it waits: what waits has its memory already.
      holdMemory(response, text.length * MEMORY_PER_BYTE);
      // What follows costs most of the request: a burst of one account must not go first.
      await takeTurn(app);
      return parseJsonText(text, options);
    },
    async openBody(request, response, app, options) {
      const body = await batchBodies.open(request, app, options);
      inFlight.leave(response);
      return body;
    },
    resumeRequest,
    documentLists: new FairTaskQueue({
      atOnceMax: DOCUMENT_LISTS_MAX,
      ofAppMax: () => DOCUMENT_LISTS_MAX,
      rests: true,
      waitingMax: DOCUMENT_LISTS_WAITING_MAX,
      refusal: 'too many lists are waiting',
    }),
  };
}

const tooManyRequests = () => overloaded('Too many requests are being answered.');
const tooManyOfApp = () => overloaded('Too many requests of this client app are being answered.');
