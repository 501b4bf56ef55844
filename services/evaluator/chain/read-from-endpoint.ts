import { failed, type Read, type Reading } from '../domain/read.ts';
import type { Block } from './block.ts';
import type { Endpoint } from './endpoint.ts';
import type { BatchReadings } from './read-by-reader.ts';
import { type FailureKind, toRpcFailure } from './rpc-failure.ts';

/** Calls that taking one batch apart may cost: finding one bad read among a thousand takes about twenty. */
const CALLS_MAX = 32;

/** Failures that one read may have brought over the whole batch, or that a smaller batch may not have. */
const BATCH_FAILURES: ReadonlySet<FailureKind> = new Set([
  'gas-exhausted',
  'reverted',
  'too-large',
  'rpc-error',
]);

export type ReadSome = (reads: readonly Read[]) => Promise<BatchReadings>;

/**
 * Reads a batch, and where it fails as a whole takes it apart, so that one bad read fails alone.
 *
 * @throws RpcFailure where the endpoint is at fault, or the batch took too many calls
 */
export async function readInParts(
  endpoint: Endpoint,
  reads: readonly Read[],
  readSome: ReadSome,
): Promise<BatchReadings> {
  let callCount = 0;

  async function readPart(part: readonly Read[]): Promise<BatchReadings> {
    callCount += 1;
    try {
      const readings = await readSome(part);
      endpoint.limit.succeed(part.length);
      return readings;
    } catch (error) {
      const failure = toRpcFailure(error);
      if (failure.kind === 'timeout') endpoint.limit.shrink(part.length);
      if (!BATCH_FAILURES.has(failure.kind) || callCount >= CALLS_MAX) throw failure;
      if (part.length === 1) {
        const isContracts = failure.kind === 'gas-exhausted' || failure.kind === 'reverted';
        if (isContracts) return [failed(failure.code)];
        throw failure;
      }
      if (failure.kind !== 'reverted') endpoint.limit.shrink(part.length);
      const middle = part.length >> 1;
      return [...(await readPart(part.slice(0, middle))), ...(await readPart(part.slice(middle)))];
    }
  }

  return readPart(reads);
}

/** One endpoint's answer to a batch, in the order of its reads. */
export type BatchAnswer = { readonly readings: readonly (Reading | undefined)[]; readonly isProved: boolean };

export type ReadFromEndpoint = (
  endpoint: Endpoint,
  block: Block,
  reads: readonly Read[],
  signal: AbortSignal,
) => Promise<BatchAnswer>;
