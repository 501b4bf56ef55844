import { failed, type Read } from '../domain/read.ts';
import type { Endpoint } from './endpoint.ts';
import type { BatchReadings } from './read-by-reader.ts';
import { type FailureKind, type RpcFailure, toRpcFailure } from './rpc-failure.ts';

/** Calls that taking one batch apart may cost: finding one bad read among a thousand takes about twenty. */
const CALLS_MAX = 32;

/** Failures that one read may have brought over the whole batch, or that a smaller batch may not have. */
const BATCH_FAILURES: ReadonlySet<FailureKind> = new Set([
  'gas-exhausted',
  'reverted',
  'too-large',
  'endless',
  'rpc-error',
]);

export type ReadSome = (reads: readonly Read[]) => Promise<BatchReadings>;

/**
 * Reads a batch, and where it fails as a whole takes it apart, so that one bad read fails alone.
 *
 * @throws RpcFailure where nothing could be read: then the endpoint is at fault
 */
export async function readInParts(
  endpoint: Endpoint,
  reads: readonly Read[],
  readSome: ReadSome,
): Promise<BatchReadings> {
  let callCount = 0;
  let isAnyRead = false;
  let lastFailure: RpcFailure | undefined;

  async function readPart(part: readonly Read[]): Promise<BatchReadings> {
    callCount += 1;
    try {
      const readings = await readSome(part);
      isAnyRead = true;
      endpoint.limit.succeed(part.length);
      return readings;
    } catch (error) {
      const failure = toRpcFailure(error);
      if (failure.kind === 'timeout' || failure.kind === 'too-large') endpoint.limit.shrink(part.length);
      if (!BATCH_FAILURES.has(failure.kind) || callCount >= CALLS_MAX) throw failure;
      lastFailure = failure;
      // Beside reads that went well, an answer without end is its contract's doing.
      if (part.length === 1) return [failed(failure.kind === 'endless' ? 'return-malformed' : failure.code)];
      const middle = part.length >> 1;
      return [...(await readPart(part.slice(0, middle))), ...(await readPart(part.slice(middle)))];
    }
  }

  const readings = await readPart(reads);
  const isContracts = lastFailure?.kind === 'gas-exhausted' || lastFailure?.kind === 'reverted';
  if (lastFailure !== undefined && !isAnyRead && !isContracts) throw lastFailure;
  return readings;
}
