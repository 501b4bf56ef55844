import { z } from 'zod';

/** A node on a busy machine may stall for many seconds. */
const REQUEST_TIMEOUT_MS = 60_000;

const Answer = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string(), data: z.unknown().optional() }).optional(),
});

/**
 * One JSON-RPC call to a local node.
 *
 * @throws Error if the node is away or answers with an error, whose data is the cause.
 *
 * @example
 * await callJsonRpc('http://127.0.0.1:8085', 'eth_blockNumber', []); // '0x49'
 */
export async function callJsonRpc<T = unknown>(
  rpc: string,
  method: string,
  params: readonly unknown[],
): Promise<T> {
  const response = await fetch(rpc, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const { result, error } = Answer.parse(await response.json());
  if (error)
    throw new Error(`${method}: ${error.message}`, error.data === undefined ? {} : { cause: error.data });
  return result as T;
}
