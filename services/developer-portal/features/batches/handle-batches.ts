import { setImmediate as nextTick } from 'node:timers/promises';
import { BATCH_LIMITS } from '#shared/contracts/batches/batch.ts';
import type { StoredBatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { BATCH_PATH } from '#shared/contracts/paths.ts';
import { ServiceError } from '#shared/errors.ts';
import { readBatchLines } from '#shared/stores/batches/batch-lines.ts';
import type { Batches } from '#shared/stores/batches/batches.ts';
import type { Dependencies } from '../../dependencies.ts';
import { type BatchLine, csvHeader, csvRow, isSelected, rolesChanged } from '../../domain/batch-lines.ts';
import { askGateway, requireOwnKey } from '../../http/ask-gateway.ts';
import type { Call, Handlers } from '../../http/operations.ts';
import type { BATCH_OPERATIONS } from './batch-operations.ts';

/** From the first byte of a batch to the gateway's answer: longer than its bounds for the body and
 * for the broker. */
const START_TIMEOUT_MS = 150_000;
const LISTED_COUNT_MAX = 20;
/** Entries that one page looks at. */
const SEARCHED_COUNT_MAX = 5_000;
/** Lines that are parsed before other requests have their turn. */
const SLICE_LINES = 250;

type Ids = keyof typeof BATCH_OPERATIONS;
type OfApp = Pick<Call<Ids>, 'app' | 'param'>;

/** The batches of a developer's apps: started with the developer's own key, which is not stored. */
export function makeBatchHandlers(deps: Dependencies): Handlers<Ids> {
  const { batches, batchList, deliveries, config } = deps;
  const ownBatch = async ({ app: { clientId }, param }: OfApp): Promise<StoredBatchStatus> => {
    const requestId = param('requestId');
    const [status, progress] = await Promise.all([
      batches.readStatus(requestId),
      batches.readProgress(requestId),
    ]);
    if (!status || progress?.clientId !== clientId)
      throw new ServiceError('not-found', 'there is no such batch');
    return status;
  };
  const finishedBatch = async (call: OfApp): Promise<StoredBatchStatus> => {
    const status = await ownBatch(call);
    if (status.status !== 'completed')
      throw new ServiceError('conflict', 'this batch is not finished yet; wait until it is completed');
    return status;
  };
  return {
    async listBatches(call) {
      const { clientId } = call.app;
      const { after, limit } = call.query;
      const found = await batchList.list(clientId, { countMax: limit + 1, before: after });
      const page = found.slice(0, limit);
      const next = found.length > page.length ? page.at(-1)?.requestId : undefined;
      return { batches: page, next };
    },
    readBatchOptions: async ({ app, owner }) => ({
      limits: BATCH_LIMITS[owner.tier],
      month: await deps.readMonth(app.clientId, owner),
    }),
    async startBatch(call) {
      const { apiKey, chunks } = call.upload;
      requireOwnKey(call.app, apiKey);
      const { status, body } = await askGateway(deps.fetch, {
        url: `${config.gateway.url}${BATCH_PATH}`,
        apiKey,
        post: { idempotencyKey: call.idempotencyKey, contentType: 'application/x-ndjson', body: chunks },
        timeoutMs: START_TIMEOUT_MS,
      });
      return { status, body };
    },
    async readBatch(call) {
      const status = await ownBatch(call);
      const delivery = await deliveries.read(status.requestId);
      return { ...status, delivery };
    },
    async listEntries(call) {
      const { requestId, entries: entryCount } = await finishedBatch(call);
      const { of: selection, after: from } = call.query;
      const to = Math.min(entryCount, from + SEARCHED_COUNT_MAX);
      const found: BatchLine[] = [];
      let next = to;
      for await (const line of linesOf(batches, { requestId, from, to })) {
        if (!isSelected(line, selection)) continue;
        found.push(line);
        if (found.length < LISTED_COUNT_MAX) continue;
        next = line.index + 1;
        break;
      }
      return {
        entries: found.map((line) => ({ ...line, changes: line.before && rolesChanged(line) })),
        ...(next < entryCount && { next }),
      };
    },
    async downloadBatch(call) {
      const { requestId, entries, roles } = await finishedBatch(call);
      const range = { requestId, from: 0, to: entries };
      if (call.query.format === 'ndjson')
        return {
          mediaType: 'application/x-ndjson',
          fileName: `batch-${requestId}.ndjson`,
          pieces: readBatchLines(batches, range),
        };
      const columns = {
        roleIds: roles.map(({ id }) => id),
        isPreview: roles.some(({ gained }) => gained !== undefined),
      };
      return {
        mediaType: 'text/csv; charset=utf-8',
        fileName: `batch-${requestId}.csv`,
        pieces: csvOf(linesOf(batches, range), columns),
      };
    },
  };
}

/** The parsed lines of a range. Other requests have their turn every few of them. */
async function* linesOf(
  batches: Pick<Batches, 'readPart'>,
  range: Parameters<typeof readBatchLines>[1],
): AsyncGenerator<BatchLine, void> {
  let count = 0;
  for await (const part of readBatchLines(batches, range))
    for (const line of part.toString('utf8').split('\n')) {
      if (line === '') continue;
      yield JSON.parse(line) as BatchLine;
      count += 1;
      if (count % SLICE_LINES === 0) await nextTick();
    }
}

async function* csvOf(
  lines: AsyncIterable<BatchLine>,
  columns: Parameters<typeof csvHeader>[0],
): AsyncGenerator<Buffer, void> {
  let rows = [csvHeader(columns)];
  for await (const line of lines) {
    rows.push(csvRow(line, columns));
    if (rows.length < SLICE_LINES) continue;
    yield Buffer.from(rows.join(''));
    rows = [];
  }
  if (rows.length > 0) yield Buffer.from(rows.join(''));
}
