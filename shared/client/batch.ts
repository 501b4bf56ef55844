import { BATCH_PATH } from '../contracts/paths.ts';
import type { BatchAcknowledgement, BatchLine, BatchRequest } from './api-types.ts';
import { RolecallError } from './http/rolecall-error.ts';
import { sleep } from './http/timing.ts';
import {
  type ApiRequest,
  type ApiResponse,
  NDJSON,
  type Transport,
  unexpectedAnswer,
} from './http/transport.ts';

export type BatchOptions = {
  readonly signal?: AbortSignal | undefined;
  /** How long no further line may come until the iteration ends with `timeout`; default 10
   * minutes. */
  readonly timeoutMs?: number | undefined;
  /** Called once the batch is accepted: with this id its lines can be read again, by
   * `batchLines`. */
  readonly onAccepted?: ((requestId: string) => void) | undefined;
};

export type BatchLinesOptions = Omit<BatchOptions, 'onAccepted'> & {
  /** Place of the first line, from 0. */
  readonly from?: number | undefined;
};

const IDLE_MS = 600_000;
/** Time limit of sending the entries once, up to 16 MiB: the gateway's own. The client's limit
 * bounds the waits between attempts. */
const START_ATTEMPT_MS = 120_000;
/** Lines of one answer, all of them in memory at once. */
const LINES_PER_ANSWER = 1_000;
/** A status poll returns when the batch is completed, or then: finished parts are read in
 * between. */
const POLL_SECONDS = 3;
const POLL_MARGIN_MS = 10_000;

/** Starts a batch and yields its lines in the order of the entries, each as soon as all before it
 * are finished. */
export async function* runBatch(
  transport: Transport,
  { entries, ...common }: BatchRequest,
  { onAccepted, ...options }: BatchOptions,
): AsyncGenerator<BatchLine, void> {
  // The members of a watch are the gateway's: such a batch is small, and JSON alone.
  const content = entries === undefined ? { body: common } : { lines: [common, ...entries] };
  const { requestId, entries: takenCount } = await transport.ask<BatchAcknowledgement>(
    {
      method: 'POST',
      path: BATCH_PATH,
      ...content,
      headers: { 'idempotency-key': crypto.randomUUID() },
      signal: options.signal,
      attemptMs: START_ATTEMPT_MS,
      timeoutMs: START_ATTEMPT_MS + transport.timeoutMs,
      waitsMs: Math.min(options.timeoutMs ?? IDLE_MS, transport.timeoutMs),
    },
    { requestId: 'string', ...(entries === undefined && { entries: 'number' }) },
  );
  const entryCount = entries?.length ?? takenCount;
  onAccepted?.(requestId);
  let count = 0;
  for await (const line of readLines(transport, requestId, options)) {
    count += 1;
    yield line;
  }
  if (count < entryCount)
    throw unexpectedAnswer(`Batch ${requestId} ended at line ${count} of ${entryCount}.`);
}

/** Yields the lines of a batch that was started before, also by another process. */
export async function* readLines(
  transport: Transport,
  requestId: string,
  { from = 0, signal, timeoutMs = IDLE_MS }: BatchLinesOptions,
): AsyncGenerator<BatchLine, void> {
  const path = `${BATCH_PATH}/${encodeURIComponent(requestId)}`;
  let next = from;
  let endsAt = performance.now() + timeoutMs;
  // An accepted batch goes on while the gateway is away, so each call may use all of the time that
  // is left.
  const get: Get = async (subPath, options) => {
    const leftMs = Math.max(1, endsAt - performance.now());
    try {
      return await transport.send({
        method: 'GET',
        path: path + subPath,
        signal,
        timeoutMs: leftMs,
        ...options,
      });
    } catch (error) {
      throw error instanceof RolecallError ? error.withRequestId(requestId) : error;
    }
  };
  for (;;) {
    const lines = await readFinished(get, next, transport.timeoutMs);
    if (lines) {
      if (lines.length === 0) return;
      for (const [place, line] of lines.entries()) {
        if (line.index !== next + place)
          throw unexpectedAnswer(`Line ${next + place} of batch ${requestId} is missing.`);
        yield line;
      }
      next += lines.length;
      endsAt = performance.now() + timeoutMs;
      continue;
    }
    if (performance.now() >= endsAt)
      throw new RolecallError(
        'timeout',
        `No further line of batch ${requestId} came: it is at line ${next}.`,
        { requestId },
      );
    await waitForMore(get, signal);
  }
}

/** A GET of the batch, or of something under it. */
type Get = (subPath: string, options: Pick<ApiRequest, 'attemptMs' | 'headers'>) => Promise<ApiResponse>;

/** The lines of one answer; none past the last entry; `undefined` if the next one is not finished
 * yet. */
async function readFinished(get: Get, next: number, attemptMs: number): Promise<BatchLine[] | undefined> {
  const { status, headers, text } = await get(`/results?from=${next}&limit=${LINES_PER_ANSWER}`, {
    attemptMs,
  });
  if (status === 202) return undefined;
  try {
    // An empty answer of a proxy must not look like the end.
    if (!headers.get('content-type')?.startsWith(NDJSON)) throw new TypeError(`not ${NDJSON}`);
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as BatchLine);
  } catch (cause) {
    throw new RolecallError('unexpected-answer', 'The results of the batch are not NDJSON.', {
      status,
      cause,
    });
  }
}

/** A long poll of the status; a gateway that answers it at once is not asked again at once. */
async function waitForMore(get: Get, signal: AbortSignal | undefined): Promise<void> {
  const beganAt = performance.now();
  const headers = { prefer: `wait=${POLL_SECONDS}` };
  await get('', { headers, attemptMs: POLL_SECONDS * 1_000 + POLL_MARGIN_MS });
  const pauseMs = 1_000 - (performance.now() - beganAt);
  if (pauseMs > 0) await sleep(pauseMs, signal);
}
