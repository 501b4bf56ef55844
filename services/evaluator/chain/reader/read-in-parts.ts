import { failed, type Read } from '../../domain/read.ts';
import type { Callable } from '../endpoints/endpoint.ts';
import { mayBeContractFault, type RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { type BatchReadings, isSuspect, PERHAPS_OUT_OF_GAS } from './readings.ts';
import type { RememberedNames } from './reads-apart.ts';

/** Calls that bisecting one batch may cost: finding one bad read among a thousand takes about twenty. */
const CALLS_MAX = 32;

type Options = {
  readonly endpoint: Callable;
  readonly reads: readonly Read[];
  readonly readSome: (reads: readonly Read[]) => Promise<BatchReadings>;
  /** Makes a read of the service's own at the same block. @throws RpcFailure if the endpoint cannot read there */
  readonly readOwn: () => Promise<void>;
  /** Whether the block is so new that the endpoint, or one node behind its URL, may not have it yet. */
  readonly isNew: boolean;
  /** Whether a read alone was tried at this block before, so that a second failure is worth a read of our own. */
  readonly isRepeated: boolean;
  /** Whether the block is one that a check has named, so that the endpoint may not have it any more. */
  readonly isPast: boolean;
  /** Whether a read that fails its whole call must be repeated in isolation before its outcome is final. */
  readonly isSuspect: boolean;
  /** Where calls have no stipend: the contracts that are too heavy to be read together with others. */
  readonly heavy?: Pick<RememberedNames, 'add' | 'has'> | undefined;
};

/**
 * Reads a batch in parts of the endpoint's batch size. A part that fails as a whole is bisected, so that one bad read does
 * not fail the others, but only once the endpoint has read something else at the same block: else the error does not
 * depend on what is in the batch. Where calls have no stipend, a part that times out or returns too much is divided by
 * contract, all at once, and the contracts that do so again are heavy: their reads are isolated. If the endpoint fails midway, or the bound on calls is reached, the remaining reads stay
 * open for a later batch, and so do those that fail at a new block for a reason that no contract gives.
 *
 * @throws RpcFailure if nothing could be read; `block-unavailable` if the endpoint does not have the block (yet)
 */
export async function readInParts(options: Options): Promise<BatchReadings> {
  const { endpoint, reads, readSome, isNew, isPast, heavy } = options;
  const partMax = endpoint.limit.current;
  let callsLeft = CALLS_MAX + Math.ceil(reads.length / partMax) - 1;
  let isAnyRead = false;
  let hasReadOwn = false;
  let lastFailure: RpcFailure | undefined;

  /** @throws RpcFailure if the endpoint cannot read at this block at all */
  async function requireBlock(failure: RpcFailure): Promise<void> {
    if (isAnyRead || hasReadOwn) return;
    try {
      await options.readOwn();
      hasReadOwn = true;
    } catch (error) {
      const own = toRpcFailure(error);
      throw own.isErrorAnswer && (isNew || isPast) ? failure.as('block-unavailable', true) : own;
    }
  }

  /** The read of our own may have been answered by another node behind the endpoint's URL. */
  const isNotYet = ({ kind, isErrorAnswer }: RpcFailure): boolean =>
    isNew && isErrorAnswer && !mayBeContractFault(kind);

  /** Reads each contract by itself, all at once: a heavy one would use up the time of the others. */
  async function readApart(part: readonly Read[], groups: readonly Read[][]): Promise<BatchReadings> {
    const readings = new Map<Read, BatchReadings[number]>();
    const readGroup = async (group: readonly Read[]) => {
      const ofGroup = (await readPart(group)).values();
      for (const read of group) readings.set(read, ofGroup.next().value);
    };
    await Promise.all(groups.map(readGroup));
    return part.map((read) => readings.get(read));
  }

  async function readPart(part: readonly Read[]): Promise<BatchReadings> {
    if (callsLeft === 0) return part.map(() => undefined);
    callsLeft -= 1;
    try {
      const readings = await readSome(part);
      isAnyRead = true;
      endpoint.limit.succeed(part.length);
      return readings;
    } catch (error) {
      const failure = toRpcFailure(error);
      const { kind } = failure;
      if (heavy !== undefined && (kind === 'timeout' || kind === 'endless')) {
        const groups = [...Map.groupBy(part, contractOf).values()];
        if (groups.length > 1) {
          await requireBlock(failure);
          lastFailure = failure;
          return readApart(part, groups);
        }
        if (isAnyRead || hasReadOwn) {
          heavy.add(contractOf(part[0]));
          return part.map(() => PERHAPS_OUT_OF_GAS);
        }
      }
      // A call with a single read cannot be made smaller.
      if ((kind === 'timeout' || kind === 'too-large') && part.length > 1) endpoint.limit.refuse(part.length);
      if (!failure.isRefusal && !mayBeContractFault(kind)) {
        if (!isAnyRead || kind === 'abandoned') throw failure;
        callsLeft = 0;
        return part.map(() => undefined);
      }
      if (reads.length === 1 && !options.isRepeated && isNotYet(failure))
        throw failure.as('block-unavailable');
      await requireBlock(failure);
      lastFailure = failure;
      if (part.length > 1) {
        const middle = part.length >> 1;
        return [...(await readPart(part.slice(0, middle))), ...(await readPart(part.slice(middle)))];
      }
      if (options.isSuspect && mayBeContractFault(kind)) return [PERHAPS_OUT_OF_GAS];
      if (isNotYet(failure)) return [undefined];
      // If other reads succeed, the contract caused the oversized answer.
      return [kind === 'endless' ? failed('return-malformed') : failure.reading];
    }
  }

  const isHeavy = reads.map((read) => heavy?.has(contractOf(read)) ?? false);
  const light = reads.filter((_, index) => !isHeavy[index]);
  const ofLight: BatchReadings[number][] = [];
  for (let from = 0; from < light.length; from += partMax)
    ofLight.push(...(await readPart(light.slice(from, from + partMax))));
  const next = ofLight.values();
  const readings = isHeavy.map((is) => (is ? PERHAPS_OUT_OF_GAS : next.next().value));
  if (lastFailure !== undefined && !isAnyRead && !readings.some(isSuspect))
    throw isNotYet(lastFailure) ? lastFailure.as('block-unavailable') : lastFailure;
  return readings;
}

/** Native balances cost no gas: they are of one kind. */
const contractOf = (read: Read | undefined): string =>
  read === undefined || read.kind === 'native' ? '' : read.contract;
