import { BatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { BATCH_PATH } from '#shared/contracts/paths.ts';
import type { BatchLine } from '../infrastructure/connect-test-chains.ts';

const LONG_POLL_S = 10;
const REQUEST_TIMEOUT_MS = 60_000;

/** A small client of the batch API, as one client app. */
export type BatchClient = {
  /** Sends a batch as NDJSON and returns its id. @throws Error unless it is accepted */
  readonly post: (head: object, accounts: readonly string[], idempotencyKey?: string) => Promise<string>;
  readonly status: (requestId: string) => Promise<BatchStatus>;
  /** The status once the last entry is finished.
   * @throws Error if that takes longer than `timeoutMs` */
  readonly wait: (requestId: string, timeoutMs: number) => Promise<BatchStatus>;
  /** All lines of a finished batch, page by page. */
  readonly lines: (requestId: string) => Promise<BatchLine[]>;
};

/**
 * @example
 * const batches = makeBatchClient({ url, apiKey });
 * const { roles } = await batches.wait(await batches.post({ rules }, accounts), 60_000);
 */
export function makeBatchClient({
  url,
  apiKey,
}: {
  readonly url: string;
  readonly apiKey: string;
}): BatchClient {
  const call = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = { 'x-api-key': apiKey, ...init.headers };
    const response = await fetch(url + BATCH_PATH + path, {
      ...init,
      headers,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    if (response.ok) return response;
    throw new Error(`the batch got the status ${response.status}: ${(await response.text()).slice(0, 500)}`);
  };
  const status = async (requestId: string, waitS = 0) => {
    const response = await call(`/${requestId}`, { headers: { prefer: `wait=${waitS}` } });
    return BatchStatus.parse(await response.json());
  };
  return {
    async post(head, accounts, idempotencyKey) {
      const response = await call('', {
        method: 'POST',
        headers: {
          'content-type': 'application/x-ndjson',
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        body: [head, ...accounts].map((line) => `${JSON.stringify(line)}\n`).join(''),
      });
      return ((await response.json()) as { requestId: string }).requestId;
    },
    status,
    async wait(requestId, timeoutMs) {
      for (const endMs = Date.now() + timeoutMs; ; ) {
        const found = await status(requestId, LONG_POLL_S);
        if (found.status === 'completed') return found;
        if (Date.now() > endMs)
          throw new Error(`${found.done} of ${found.entries} entries were finished in time`);
      }
    },
    async lines(requestId) {
      const lines: BatchLine[] = [];
      for (let page: string | undefined = `/${requestId}/results?from=0&limit=10000`; page !== undefined; ) {
        const response = await call(page);
        const text = await response.text();
        for (const line of text.split('\n')) if (line !== '') lines.push(JSON.parse(line) as BatchLine);
        const next = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
        page = next === undefined ? undefined : new URL(next, url).href.slice((url + BATCH_PATH).length);
      }
      return lines;
    },
  };
}
