import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { Problem, retryAfter } from '#shared/http/problem.ts';
import type { Handle } from '#shared/http/serve-routes.ts';
import { type Admitted, admitRead } from '../auth/admit-request.ts';
import type { Dependencies } from '../dependencies.ts';
import { addHeaders, type Request, type Response, sendJson } from '../edge/exchange.ts';
import { parsePreferWait } from '../edge/parse-prefer.ts';
import type { IssuedLane } from './request-ids.ts';

/** Answers `GET /access-control/check-roles/responses/{requestId}`, at once or as soon as the
 * result is there. */
export function makeReadCheck(deps: Dependencies): Handle {
  return async function readCheck(request, response, param) {
    const admitted = await admitRead(deps, request, response);
    const requestId = findIssued(deps, param('requestId'), admitted, (lane) => lane !== 'batch');
    const resultJson =
      (await findResult(deps, admitted.app, requestId)) ??
      (await longPoll(deps, { requestId, app: admitted.app }, request, response));
    if (resultJson !== undefined) sendJson(response, 200, resultJson);
    else sendJson(response, 202, pendingJson(requestId), retryAfter(1_000));
  };
}

/** Polls cost the rate alone: large results take turns, so that they delay nobody's small ones. */
async function findResult(
  deps: Dependencies,
  app: AppAccess,
  requestId: string,
): Promise<string | undefined> {
  const found = await deps.findResult(requestId);
  if (typeof found !== 'number') return found;
  return deps.documentLists.run(app, () => deps.readResult(requestId));
}

const pendingJson = (requestId: string): string =>
  JSON.stringify({ requestId, status: 'pending', roles: [], errors: [] });

/* Polls of checks and of batches. */

/**
 * The request id of a path, which was issued to this client app, and whose results are kept.
 * Acceptance stores nothing but the request, so the age of the id tells:
 *
 *   issued ──(retention)──► expired ──(as long again)──► forgotten
 *   202                     410                          404
 *
 * @param isOf whether ids of a lane belong to this path
 * @throws Problem `request-not-found`, `request-expired`
 */
export function findIssued(
  { ids, retentionMs }: Pick<Dependencies, 'ids' | 'retentionMs'>,
  requestId: string,
  { app: { clientId }, admission: { nowMs } }: Admitted,
  isOf: (lane: IssuedLane) => boolean,
): string {
  const issued = ids.readId(requestId, clientId);
  if (!issued || !isOf(issued.lane)) throw notFound();
  const ageMs = nowMs - issued.issuedAtMs;
  const keptMs = retentionMs[issued.lane];
  if (ageMs >= 2 * keptMs) throw notFound();
  if (ageMs >= keptMs)
    throw new Problem('request-expired', 'The result has expired: its retention is over.', {
      members: { requestId },
    });
  return requestId;
}

/** Unknown, or of another client app: the answer must not tell which. */
const notFound = (): Problem =>
  new Problem('request-not-found', 'This client app has made no request with this id.');

/** Waits for a result as long as `Prefer: wait=N` asks for; `undefined` if it does not come, or
 * must not be waited for. */
export async function longPoll(
  { waiters, isStopping }: Pick<Dependencies, 'waiters' | 'isStopping'>,
  { requestId, app }: { readonly requestId: string; readonly app: AppAccess },
  request: Request,
  response: Response,
): Promise<string | undefined> {
  const prefer = request.headers['prefer'];
  const waitSeconds = parsePreferWait(typeof prefer === 'string' ? prefer : prefer?.join(','));
  if (waitSeconds === 0) return undefined;
  addHeaders(response, { 'preference-applied': `wait=${waitSeconds}` });
  if (isStopping() || !waiters.hasRoom(app)) return undefined;
  const waiting = waiters.wait({ requestId, timeoutMs: waitSeconds * 1_000, longPollOf: app });
  response.on('close', waiting.cancel);
  return waiting.result;
}
