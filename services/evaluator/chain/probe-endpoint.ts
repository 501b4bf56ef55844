import type { Capabilities, Endpoint } from './endpoint.ts';
import { fetchBlock } from './heads.ts';
import { readByReader } from './read-by-reader.ts';
import type { BlockSource } from './reader/reader-codec.ts';
import { RpcFailure } from './rpc-failure.ts';

/**
 * Finds out what an endpoint can do: whether it serves this chain at all, whether a call can be pinned to a
 * block's hash, and which is the best way to read many balances that it has.
 *
 * @throws RpcFailure `wrong-chain` where it serves another chain, else as the endpoint fails
 */
export async function probeEndpoint(
  endpoint: Endpoint,
  chainId: number,
  source: BlockSource,
  signal: AbortSignal,
): Promise<Capabilities> {
  await endpoint.use(signal, async (rpc) => {
    const answer = await rpc.call({ method: 'eth_chainId', params: '[]' }, signal);
    if (typeof answer !== 'string' || !/^0x[0-9a-fA-F]{1,14}$/.test(answer))
      throw new RpcFailure('malformed');
    if (Number.parseInt(answer, 16) !== chainId) throw new RpcFailure('wrong-chain');
  });
  const block = await fetchBlock(endpoint, 'latest', signal);
  for (const pin of ['hash', 'number'] as const) {
    const options = { pin, source, isSecondLookAllowed: false };
    if (await works(() => readByReader(endpoint, block, [], options, signal)))
      return { method: 'reader', pin };
  }
  return { method: 'plain', pin: 'number' };
}

/** Whether a way of reading works; a failure of the road there is no answer to that. */
async function works(attempt: () => Promise<unknown>): Promise<boolean> {
  try {
    await attempt();
    return true;
  } catch (error) {
    if (error instanceof RpcFailure && ROAD_FAILURES.has(error.kind)) throw error;
    return false;
  }
}

const ROAD_FAILURES: ReadonlySet<string> = new Set([
  'unreachable',
  'timeout',
  'rate-limited',
  'http-status',
  'breaker-open',
  'over-rate',
  'abandoned',
]);
