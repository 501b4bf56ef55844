import { RpcFailure } from '../rpc/rpc-failure.ts';
import type { Block } from './block.ts';

/** A block on its way, which several checks may wait for. */
export type BlockFetch<B extends Block = Block> = {
  readonly block: Promise<B>;
  /** Why its last attempt failed, for checks that must end before there is an answer. */
  lastFailure: RpcFailure | undefined;
};

/** Stops waiting when the check must end; the fetch continues for other checks. @throws RpcFailure */
export async function awaitFetch<B extends Block>(fetched: BlockFetch<B>, signal: AbortSignal): Promise<B> {
  if (signal.aborted) throw new RpcFailure('abandoned');
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(fetched.lastFailure ?? new RpcFailure('abandoned'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([fetched.block, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
