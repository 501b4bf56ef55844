import { RESPONSES_PATH } from '#shared/contracts/paths.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import { type Dependencies as AdmitDependencies, admitRead } from '../auth/admit-request.ts';
import { type Request, type Response, sendJson } from '../edge/exchange.ts';
import { findIssued, longPoll, type Dependencies as PollDependencies } from './poll-request.ts';

export type Dependencies = PollDependencies &
  AdmitDependencies & {
    readonly readResult: (requestId: string) => Promise<string | undefined>;
  };

/** Answers `GET /access-control/check-roles/responses/{requestId}`, at once or as soon as the result is there. */
export function makeReadCheck(deps: Dependencies) {
  return async function readCheck(request: Request, response: Response): Promise<void> {
    const { app, admission } = await admitRead(deps, request, response);
    const segment = request.path.slice(RESPONSES_PATH.length);
    const requestId = findIssued(deps, {
      segment,
      clientId: app.clientId,
      nowMs: admission.nowMs,
      isOf: (lane) => lane !== 'batch',
    });
    const resultJson =
      (await deps.readResult(requestId)) ?? (await longPoll(deps, { requestId, app }, request, response));
    if (resultJson !== undefined) sendJson(response, 200, resultJson);
    else sendJson(response, 202, pendingJson(requestId), retryAfter(1_000));
  };
}

const pendingJson = (requestId: string): string =>
  JSON.stringify({ requestId, status: 'pending', roles: [], errors: [] });
