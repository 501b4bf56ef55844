import type { BatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { BATCH_PATH } from '#shared/contracts/paths.ts';
import { dependencyUnavailable, Problem, retryAfter } from '#shared/http/problem.ts';
import type { Handle, Param } from '#shared/http/serve-routes.ts';
import type { Batches } from '#shared/stores/batches/batches.ts';
import { admitRead } from '../auth/admit-request.ts';
import { findIssued, longPoll } from '../checks/poll-request.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Request, type Response, sendJson } from '../edge/exchange.ts';
import { parseQuery } from '../edge/parse-query.ts';
import { BATCH_OPERATIONS, RESULTS_MAX } from './operations.ts';

/** Answers `GET /access-control/check-roles/batch/{requestId}`: 200, pending or completed. */
export function makeReadBatch(deps: Dependencies): Handle {
  return async function readBatch(request, response, param) {
    const { requestId, app } = await findBatch(deps, request, response, param);
    const status = await readStatus(deps, requestId);
    const waited =
      status?.status === 'completed'
        ? undefined
        : await longPoll({ ...deps, waiters: deps.batchWaiters }, { requestId, app }, request, response);
    if (waited !== undefined) return sendJson(response, 200, waited);
    const latest = status?.status === 'completed' ? status : await readStatus(deps, requestId);
    if (!latest) throw notStoredYet();
    sendJson(response, 200, JSON.stringify(latest), latest.status === 'pending' ? retryAfter(1_000) : {});
  };
}

/** Answers `GET /access-control/check-roles/batch/{requestId}/results`: the finished entries of a
 * range, as NDJSON. */
export function makeReadBatchResults(deps: Dependencies): Handle {
  return async function readBatchResults(request, response, param) {
    const { requestId, app } = await findBatch(deps, request, response, param);
    const { from, limit } = parseQuery(request, BATCH_OPERATIONS.readBatchResults.query);
    const status = await readStatus(deps, requestId);
    if (!status) throw notStoredYet();
    const countMax = Math.min(limit, Math.max(0, status.entries - from));
    const count =
      status.status === 'completed' ? countMax : await deps.batches.countFinished(requestId, from, countMax);
    if (count === 0 && countMax > 0)
      return sendJson(response, 202, JSON.stringify(status), retryAfter(1_000));
    const next = from + count;
    const query = `from=${next}${limit === RESULTS_MAX ? '' : `&limit=${limit}`}`;
    const address = `${deps.publicBaseUrl}${BATCH_PATH}/${requestId}/results?${query}`;
    await deps.streamResults(
      { app, requestId, from, to: next },
      request,
      response,
      next < status.entries ? { link: `<${address}>; rel="next"` } : {},
    );
  };
}

/** The status documents of completed batches, as text, for waiting requests; undefined for a batch
 * that cannot be read now. */
export const readCompleted =
  ({ readStatus }: Pick<Batches, 'readStatus'>) =>
  (requestIds: readonly string[]): Promise<(string | undefined)[]> =>
    Promise.all(
      requestIds.map(async (requestId) => {
        const status = await readStatus(requestId).catch(() => undefined);
        return status?.status === 'completed' ? JSON.stringify(status) : undefined;
      }),
    );

/** key → limits → scope → the batch of the path, which this client app has started and whose
 * results are kept. */
async function findBatch(deps: Dependencies, request: Request, response: Response, param: Param) {
  const admitted = await admitRead(deps, request, response);
  const requestId = findIssued(deps, param('requestId'), admitted, (lane) => lane === 'batch');
  return { requestId, app: admitted.app };
}

/** A batch that was never accepted does not exist for its client, who can send it again with the
 * same key. */
async function readStatus({ batches }: Dependencies, requestId: string): Promise<BatchStatus | undefined> {
  const found = await batches.readStatus(requestId);
  if (found?.status === 'abandoned')
    throw new Problem(
      'request-not-found',
      'This batch was never accepted: not all of it could be published.',
    );
  return found && { ...found, status: found.status };
}

/** It is registered with its first part at the latest. */
const notStoredYet = (): Problem => dependencyUnavailable('The status of the batch is not stored yet.');
