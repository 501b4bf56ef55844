import { retryAfter } from '#shared/http/problem.ts';
import type { Handle } from '#shared/http/serve-routes.ts';
import { admitRead } from '../auth/admit-request.ts';
import type { Dependencies } from '../dependencies.ts';
import { sendJson } from '../edge/exchange.ts';
import { findIssued, longPoll } from './poll-request.ts';

/** Answers `GET /access-control/check-roles/responses/{requestId}`, at once or as soon as the
 * result is there. */
export function makeReadCheck(deps: Dependencies): Handle {
  return async function readCheck(request, response, param) {
    const admitted = await admitRead(deps, request, response);
    const requestId = findIssued(deps, param('requestId'), admitted, (lane) => lane !== 'batch');
    const resultJson =
      (await deps.readResult(requestId)) ??
      (await longPoll(deps, { requestId, app: admitted.app }, request, response));
    if (resultJson !== undefined) sendJson(response, 200, resultJson);
    else sendJson(response, 202, pendingJson(requestId), retryAfter(1_000));
  };
}

const pendingJson = (requestId: string): string =>
  JSON.stringify({ requestId, status: 'pending', roles: [], errors: [] });
