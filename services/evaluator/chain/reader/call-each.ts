import type { Callable } from '../endpoints/endpoint.ts';
import type { RpcOutcome, RpcRequest } from '../rpc/connect-rpc.ts';

/** Calls of one JSON-RPC array: the least that any of the well-known providers takes. */
const CALLS_PER_ARRAY_MAX = 100;

/**
 * Makes many calls in JSON-RPC arrays, each of which is one call within the endpoint's rate.
 *
 * @param judge judges one outcome; its errors count as failures of the endpoint
 * @param perArrayMax the most calls of an array; fewer where answers are long
 * @throws RpcFailure if the calls of an array failed together, and the errors of `judge`
 */
export async function callEach<T>(
  endpoint: Callable,
  requests: readonly RpcRequest[],
  signal: AbortSignal,
  judge: (outcome: RpcOutcome, index: number) => T,
  perArrayMax = CALLS_PER_ARRAY_MAX,
): Promise<T[]> {
  const judged: T[] = [];
  const countMax = Math.min(perArrayMax, endpoint.limit.current);
  for (let from = 0; from < requests.length; from += countMax) {
    const part = requests.slice(from, from + countMax);
    const ofPart = await endpoint.use(signal, async (rpc) =>
      (await rpc.callMany(part, signal)).map((outcome, index) => judge(outcome, from + index)),
    );
    judged.push(...ofPart);
  }
  return judged;
}
