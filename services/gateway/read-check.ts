import { RESPONSES_PATH } from '#shared/contracts/paths.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import type { ApplyLimits } from './apply-limits.ts';
import { type Authenticator, accessProblemOf } from './authenticate.ts';
import { type Request, type Response, sendJson } from './exchange.ts';
import { findIssued, longPoll, type Dependencies as PollDependencies } from './poll-request.ts';

export type Dependencies = PollDependencies & {
  readonly authenticate: Authenticator['authenticate'];
  readonly applyLimits: ApplyLimits;
  readonly readResult: (requestId: string) => Promise<string | undefined>;
};

/** Answers `GET /access-control/check-roles/responses/{requestId}`, at once or as soon as the result is there. */
export function makeReadCheck(deps: Dependencies) {
  return async function readCheck(request: Request, response: Response): Promise<void> {
    const { app } = await deps.authenticate(request, request.ip ?? '');
    const { nowMs } = await deps.applyLimits({ app, bucket: 'per-second-poll' }, response);
    const denied = accessProblemOf(app);
    if (denied) throw denied;
    const { clientId } = app;
    const segment = request.path.slice(RESPONSES_PATH.length);
    const requestId = findIssued(deps, { segment, clientId, nowMs, isOf: (lane) => lane !== 'batch' });
    const resultJson =
      (await deps.readResult(requestId)) ??
      (await longPoll(deps, { requestId, clientId }, request, response));
    if (resultJson !== undefined) sendJson(response, 200, resultJson);
    else sendJson(response, 202, pendingJson(requestId), retryAfter(1_000));
  };
}

const pendingJson = (requestId: string): string =>
  JSON.stringify({ requestId, status: 'pending', roles: [], errors: [] });
