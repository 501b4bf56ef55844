import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Pool } from 'undici';
import type { NodeLag, Profile, Refusal } from '../profile.ts';
import { type Answer, type AskChain, answerCall, type Call } from './answer-call.ts';
import type { MinedChain } from './mined-chain.ts';

const NOT_LATE: NodeLag = { headsMs: 0, callsMs: 0, logsMs: 0 };
const CONNECTIONS_MAX = 32;
/** A longer answer of the chain, such as that of a contract that returns a MiB, is not taken apart:
 * the tested subject runs in the same process. */
const PARSED_CHARS_MAX = 100_000;
const ASKED = '{"jsonrpc":"2.0","id":1,';

export type RunningProvider = AsyncDisposable & {
  readonly url: string;
  /** JSON-RPC calls so far, each call of a batch by itself. */
  readonly callCount: () => number;
};

/**
 * Starts a provider: JSON-RPC over HTTP in front of a chain, with the faults and words of its
 * profile.
 *
 * @example
 * await using provider = await startProvider(nitroPool, chain, 31_337);
 */
export async function startProvider(
  profile: Profile,
  chain: MinedChain,
  chainId: number,
): Promise<RunningProvider> {
  const upstream = new Pool(chain.rpc, { connections: CONNECTIONS_MAX });
  const ask: AskChain = async (method, params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const headers = { 'content-type': 'application/json' };
    const response = await upstream.request({ method: 'POST', path: '/', headers, body });
    const text = await response.body.text();
    if (text.length > PARSED_CHARS_MAX && text.startsWith(ASKED))
      return { text: text.slice(ASKED.length, text.lastIndexOf('}')) };
    const { result, error } = JSON.parse(text) as { result?: unknown; error?: Refusal };
    return error === undefined ? { result } : { refusal: error };
  };
  const lags = profile.nodes ?? [NOT_LATE];
  let [requestCount, callCount, nodeCount] = [0, 0, 0];
  const nextNode = () => {
    const index = nodeCount++ % lags.length;
    const runsNewestState = profile.newestStateNodes?.includes(index) ?? false;
    return { profile, chain, chainId, lag: lags[index] ?? NOT_LATE, runsNewestState, ask };
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: unknown = JSON.parse(await textOf(request));
    const calls = (Array.isArray(body) ? body : [body]) as Call[];
    requestCount += 1;
    callCount += calls.length;
    const refusal = refusalOf(profile, requestCount, Array.isArray(body) ? calls.length : undefined);
    if (refusal !== undefined)
      return send(profile, response, JSON.stringify(errorOf(refusal, calls[0]?.id ?? null)), refusal);
    let node = nextNode();
    const answers: string[] = [];
    for (const call of calls) {
      if (profile.spreadsBatches && answers.length > 0) node = nextNode();
      answers.push(answerOf(await answerCall(node, call), call.id));
    }
    send(profile, response, Array.isArray(body) ? `[${answers.join()}]` : (answers[0] ?? ''));
  }

  const server = createServer((request, response) => {
    void serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    callCount: () => callCount,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      await upstream.destroy();
    },
  };
}

/** Why a provider refuses a whole request, if it does. */
function refusalOf({ refuses, batch }: Profile, count: number, batchSize?: number): Refusal | undefined {
  if (refuses !== undefined && ('every' in refuses ? count % refuses.every === 0 : count > refuses.after))
    return refuses.refusal;
  return batch !== undefined && batchSize !== undefined && batchSize > batch.max ? batch.refusal : undefined;
}

const errorOf = ({ code, message, data }: Refusal, id: unknown): object => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data === undefined ? {} : { data }) },
});

function answerOf(answer: Answer, id: unknown): string {
  if ('text' in answer) return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${answer.text}}`;
  return JSON.stringify(
    'refusal' in answer ? errorOf(answer.refusal, id) : { jsonrpc: '2.0', id, result: answer.result },
  );
}

function send(profile: Profile, response: ServerResponse, answer: string, refusal?: Refusal): void {
  const text = refusal?.body ?? answer;
  response.writeHead(refusal?.status ?? profile.status ?? 200, {
    'content-type': 'application/json',
    ...(profile.isGzipped ? { 'content-encoding': 'gzip' } : {}),
  });
  response.end(profile.isGzipped ? gzipSync(text) : text);
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
