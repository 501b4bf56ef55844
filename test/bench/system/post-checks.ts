import { Pool } from 'undici';
import { CHECK_PATH as PATH } from '#shared/contracts/paths.ts';
import type { SentWorkload } from './workload.ts';

const CONNECTIONS = 64;

type PostOptions = {
  readonly url: string;
  /** API keys, used in turn. */
  readonly apiKeys: readonly string[];
  readonly workload: SentWorkload;
  /** The first position of the workload to send. */
  readonly from: number;
  readonly count: number;
  readonly mode: 'sync' | 'poll';
  /** Poll mode only: the callback URL, if results are also sent as webhooks. */
  readonly callbackUrl?: string | undefined;
};

type Posted = {
  /** Poll mode only: the ids by position, from `from` on. */
  readonly requestIds: readonly string[];
  /** Durations from sending to the complete answer, sorted. */
  readonly tookMs: readonly number[];
};

/**
 * Posts checks as fast as 64 connections can.
 *
 * @throws Error at the first check that is not accepted, or whose result is wrong (sync)
 */
export async function postChecks(options: PostOptions): Promise<Posted> {
  const { url, apiKeys, workload, from, count, mode, callbackUrl } = options;
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  const requestIds: string[] = [];
  const tookMs: number[] = [];
  let next = 0;
  const post = async (): Promise<void> => {
    while (next < count) {
      const place = next++;
      const body = JSON.stringify({
        ...workload.checkAt(from + place),
        ...(mode === 'poll' && (callbackUrl === undefined ? { async: true } : { callbackUrl })),
      });
      const headers = {
        'x-api-key': apiKeys[place % apiKeys.length] ?? '',
        'content-type': 'application/json',
      };
      const began = performance.now();
      const answer = await pool.request({ method: 'POST', path: PATH, headers, body });
      const text = await answer.body.text();
      tookMs.push(performance.now() - began);
      const expected = mode === 'poll' ? 202 : 200;
      if (answer.statusCode !== expected)
        throw new Error(`a check was answered with ${answer.statusCode}: ${text.slice(0, 300)}`);
      if (mode === 'sync') workload.verify(from + place, text);
      else requestIds[place] = (JSON.parse(text) as { requestId: string }).requestId;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, post)).finally(() => pool.close());
  return { requestIds, tookMs: tookMs.sort((a, b) => a - b) };
}
