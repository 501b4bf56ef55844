import { RESPONSES_PATH } from '#shared/contracts/paths.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import type { ApplyLimits } from './apply-limits.ts';
import { type Authenticator, accessProblemOf } from './authenticate.ts';
import type { Waiters } from './await-result.ts';
import { judgePoll, type Retention } from './domain/judge-poll.ts';
import { parsePreferWait } from './domain/parse-prefer.ts';
import { addHeaders, type Request, type Response, sendJson } from './exchange.ts';
import { Problem } from './problem.ts';
import type { RequestIds } from './request-ids.ts';

export type Dependencies = {
  readonly authenticate: Authenticator['authenticate'];
  readonly applyLimits: ApplyLimits;
  readonly ids: Pick<RequestIds, 'readId'>;
  readonly readResult: (requestId: string) => Promise<string | undefined>;
  readonly waiters: Pick<Waiters, 'wait' | 'hasRoom'>;
  readonly retentionMs: Retention;
  readonly isStopping: () => boolean;
};

/** Answers `GET /access-control/check-roles/responses/{requestId}`, at once or as soon as the result is there. */
export function makeReadCheck(deps: Dependencies) {
  return async function readCheck(request: Request, response: Response): Promise<void> {
    const { app } = await deps.authenticate(request, request.ip ?? '');
    const { nowMs } = await deps.applyLimits({ app, bucket: 'per-second-poll' }, response);
    const denied = accessProblemOf(app);
    if (denied) throw denied;
    const requestId = requestIdOf(request);
    const issued = deps.ids.readId(requestId, app.clientId);
    const state =
      issued && judgePoll({ ageMs: nowMs - issued.issuedAtMs, lane: issued.lane }, deps.retentionMs);
    if (state === undefined || state === 'forgotten' || issued?.lane === 'batch') throw notFound();
    if (state === 'expired')
      throw new Problem('request-expired', 'The result has expired: its retention is over.', {
        members: { requestId },
      });
    const resultJson =
      (await deps.readResult(requestId)) ??
      (await longPoll(deps, { requestId, clientId: app.clientId }, request, response));
    if (resultJson !== undefined) sendJson(response, 200, resultJson);
    else sendJson(response, 202, pendingJson(requestId), retryAfter(1_000));
  };
}

/** Unknown, or of another client app: the answer must not tell which. */
const notFound = (): Problem =>
  new Problem('request-not-found', 'This client app has made no request with this id.');

const pendingJson = (requestId: string): string =>
  JSON.stringify({ requestId, status: 'pending', roles: [], errors: [] });

/** The id in the path; empty, which is never an id, for a bad percent-escape. */
function requestIdOf({ path }: Request): string {
  try {
    return decodeURIComponent(path.slice(RESPONSES_PATH.length));
  } catch {
    return '';
  }
}

async function longPoll(
  deps: Dependencies,
  { requestId, clientId }: { readonly requestId: string; readonly clientId: string },
  request: Request,
  response: Response,
): Promise<string | undefined> {
  const prefer = request.headers['prefer'];
  const waitSeconds = parsePreferWait(typeof prefer === 'string' ? prefer : prefer?.join(','));
  if (waitSeconds === 0) return undefined;
  addHeaders(response, { 'preference-applied': `wait=${waitSeconds}` });
  if (deps.isStopping() || !deps.waiters.hasRoom(clientId)) return undefined;
  const waiting = deps.waiters.wait({ requestId, timeoutMs: waitSeconds * 1_000, longPollOf: clientId });
  response.on('close', waiting.cancel);
  return waiting.result;
}
