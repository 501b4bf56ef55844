import { ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import type { Read } from '../../domain/read.ts';
import { type Block, blockParameter } from '../blocks/block.ts';
import type { Callable, Capabilities } from '../endpoints/endpoint.ts';
import { readByMulticall3 } from './read-by-multicall3.ts';
import { readByReader } from './read-by-reader.ts';
import type { KeptHashes } from './state-identity.ts';

/** What the zero address holds: a read of the chain's state that no client can make fail. */
const READ: Read = {
  chainId: 0,
  kind: 'native',
  contract: ZERO_ADDRESS,
  account: ZERO_ADDRESS,
  id: 0n,
  key: '',
};

/**
 * Makes one read of the service's own at a block, in the way that clients' reads take. Its outcome says whether the
 * endpoint can read at this block at all: a failure of a client's call at the same block is then the call's own fault.
 *
 * @throws RpcFailure
 */
export async function readOwn(
  endpoint: Callable,
  block: Block,
  { method, pin, source, hasHistory = false }: Capabilities,
  kept: KeptHashes,
  signal: AbortSignal,
): Promise<void> {
  const own = { pin, source, kept };
  if (method === 'reader')
    await readByReader(endpoint, block, [READ], { ...own, stipend: 0, isIsolated: true }, signal);
  else if (method === 'multicall3')
    await readByMulticall3(endpoint, block, [READ], { ...own, hasHistory, isIsolated: false }, signal);
  else await callZeroAddress(endpoint, blockParameter(block, pin), signal);
}

/** Calls the zero address: the cheapest `eth_call`. @throws RpcFailure */
export function callZeroAddress(endpoint: Callable, at: string, signal: AbortSignal): Promise<unknown> {
  const params = `[{"to":"${ZERO_ADDRESS}","data":"0x"},${at}]`;
  return endpoint.use(signal, (rpc) => rpc.call({ method: 'eth_call', params }, signal));
}
