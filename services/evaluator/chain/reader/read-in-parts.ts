import { failed, type Read } from '../../domain/read.ts';
import type { Callable, Endpoint } from '../endpoints/endpoint.ts';
import { type FailureKind, mayBeContractFault, type RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { type BatchReadings, isSuspect, PERHAPS_OUT_OF_GAS } from './readings.ts';

/** Calls that bisecting one batch may cost: finding one bad read among a thousand takes about twenty. */
const CALLS_MAX = 32;

/** Failures that one read may have caused for the whole batch, or that a smaller batch may avoid. */
const mayBeBatchFault = (kind: FailureKind): boolean =>
  mayBeContractFault(kind) || kind === 'too-large' || kind === 'rpc-error';

type ReadSome = (reads: readonly Read[], endpoint: Callable) => Promise<BatchReadings>;

type Options = {
  readonly endpoint: Pick<Endpoint, 'use' | 'limit' | 'addStrikes' | 'breakerState'>;
  readonly reads: readonly Read[];
  readonly readSome: ReadSome;
  /** Whether a read that fails its whole call must be repeated in isolation before its outcome is final. */
  readonly isSuspect: boolean;
  /** Called when a call timed out; a timeout does not count against the endpoint by itself. */
  readonly onTimeout: () => void;
};

/**
 * Reads a batch in parts of the endpoint's batch size and bisects a part that fails as a whole, so that one bad read does
 * not fail the others. If the endpoint fails midway, or the bound on calls is reached, the remaining reads stay open for
 * a later batch. A timeout counts against the endpoint only if a cheap call fails too: the reads may have been heavy.
 *
 * @throws RpcFailure if nothing could be read: then one failure counts against the endpoint, however many calls it took
 */
export async function readInParts(options: Options): Promise<BatchReadings> {
  const { endpoint, reads, readSome } = options;
  const partMax = endpoint.limit.current;
  let callsLeft = CALLS_MAX + Math.ceil(reads.length / partMax) - 1;
  let isAnyRead = false;
  let lastFailure: RpcFailure | undefined;
  // Bisecting causes many failing calls: they must not open the breaker of a healthy endpoint.
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
      // A call with a single read cannot be made smaller.
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
      // If other reads succeed, the contract caused the oversized answer.
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
