import { failed, type Read } from '../../domain/read.ts';
import type { Callable, Endpoint } from '../endpoints/endpoint.ts';
import { type FailureKind, mayBeContractFault, type RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { type BatchReadings, isSuspect, PERHAPS_OUT_OF_GAS } from './readings.ts';

/** Calls that taking one batch apart may cost: finding one bad read among a thousand takes about twenty. */
const CALLS_MAX = 32;

/** Failures that one read may have brought over the whole batch, or that a smaller batch may not have. */
const mayBeBatchFault = (kind: FailureKind): boolean =>
  mayBeContractFault(kind) || kind === 'too-large' || kind === 'rpc-error';

export type ReadSome = (reads: readonly Read[], endpoint: Callable) => Promise<BatchReadings>;

type Options = {
  readonly endpoint: Pick<Endpoint, 'use' | 'limit' | 'addStrikes' | 'breakerState'>;
  readonly reads: readonly Read[];
  readonly readSome: ReadSome;
  /** Whether a read that brings its call down is to be read apart before a verdict. */
  readonly isSuspect: boolean;
  /** Told where a call timed out, which alone does not count against the endpoint. */
  readonly onTimeout: () => void;
};

/**
 * Reads a batch in parts of the endpoint's size, and where one fails as a whole takes it apart, so that one bad read
 * fails alone. What is left when the endpoint fails on the way, or after a bounded number of calls, stays open for a batch
 * to come. A call that times out is the endpoint's fault only where a cheap one fails as well: it may have been heavy.
 *
 * @throws RpcFailure where nothing could be read: then the endpoint is at fault, once for all its calls
 */
export async function readInParts(options: Options): Promise<BatchReadings> {
  const { endpoint, reads, readSome } = options;
  const partMax = endpoint.limit.current;
  let callsLeft = CALLS_MAX + Math.ceil(reads.length / partMax) - 1;
  let isAnyRead = false;
  let lastFailure: RpcFailure | undefined;
  // Finding the bad read takes many calls that fail: a sound endpoint is not out for these.
  const strikesOf = ({ kind, strikes }: RpcFailure): number =>
    (mayBeBatchFault(kind) || kind === 'timeout') && endpoint.breakerState === 'closed' ? 0 : strikes;
  const onTrial: Callable = {
    limit: endpoint.limit,
    use: (signal, send) => endpoint.use(signal, send, strikesOf),
  };

  async function readPart(part: readonly Read[]): Promise<BatchReadings> {
    if (callsLeft === 0) return part.map(() => undefined);
    callsLeft -= 1;
    try {
      const readings = await readSome(part, onTrial);
      isAnyRead = true;
      endpoint.limit.succeed(part.length);
      return readings;
    } catch (error) {
      const failure = toRpcFailure(error);
      const { kind } = failure;
      if (kind === 'timeout') options.onTimeout();
      // One read alone was not too many.
      if ((kind === 'timeout' || kind === 'too-large') && part.length > 1) endpoint.limit.shrink(part.length);
      if (!mayBeBatchFault(kind)) {
        if (!isAnyRead || kind === 'abandoned') throw failure;
        callsLeft = 0;
        return part.map(() => undefined);
      }
      lastFailure = failure;
      if (part.length > 1) {
        const middle = part.length >> 1;
        return [...(await readPart(part.slice(0, middle))), ...(await readPart(part.slice(middle)))];
      }
      if (options.isSuspect && mayBeContractFault(kind)) return [PERHAPS_OUT_OF_GAS];
      // Beside reads that went well, an answer without end is its contract's doing.
      return [kind === 'endless' ? failed('return-malformed') : failure.reading];
    }
  }

  const readings: BatchReadings[number][] = [];
  for (let from = 0; from < reads.length; from += partMax)
    readings.push(...(await readPart(reads.slice(from, from + partMax))));
  const isOneSuspect = readings.length === 1 && isSuspect(readings[0]);
  if (lastFailure !== undefined && !isAnyRead && !isOneSuspect) {
    endpoint.addStrikes(lastFailure.strikes);
    throw lastFailure;
  }
  return readings;
}
