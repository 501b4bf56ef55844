import { calleeOf, failed, type Read } from '../../domain/read.ts';
import type { Callable } from '../endpoints/endpoint.ts';
import { isAbout, type RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { type BatchReadings, isSuspect, PERHAPS_OUT_OF_GAS } from './readings.ts';
import type { CalleeLimits } from './reads-apart.ts';

/** Of native balances and times. */
const NO_CALLEE = '';
/** The limit of a callee that is read apart because a part that it was in failed. */
const ANY_NUMBER = Number.POSITIVE_INFINITY;
/** Calls that bisecting one batch may cost: finding one bad read among a thousand takes about
 * twenty. */
const CALLS_MAX = 32;

type Options = {
  readonly endpoint: Callable;
  readonly reads: readonly Read[];
  readonly readSome: (reads: readonly Read[]) => Promise<BatchReadings>;
  /** Makes a read of the service's own at the same block.
   * @throws RpcFailure if the endpoint cannot read there */
  readonly readOwn: () => Promise<unknown>;
  /** Whether the block is so new that the endpoint, or one node behind its URL, may not have it
   * yet. */
  readonly isNew: boolean;
  /** Whether these reads were tried at this block before, so that a second failure is worth a read
   * of our own: the first one may be that of one late node of several behind the URL. */
  readonly isRepeated: boolean;
  /** Whether the block is one that a check has named, so that the endpoint may not have it any
   * more. */
  readonly isPast: boolean;
  /** Whether a read that fails its whole call must be repeated in isolation before its outcome is
   * final. */
  readonly isSuspect: boolean;
  /** Whether the call catches whatever its contracts do: then none of them can make it revert. */
  readonly isShielded: boolean;
  /** Where calls have no stipend: the callees that are not read together with others. */
  readonly calleeLimits?: CalleeLimits | undefined;
};

/**
 * Reads a batch in parts of the endpoint's batch size. A part that fails as a whole is bisected, so
 * that one bad read does not fail the others, but only once the endpoint has read something else at
 * the same block: else the error does not depend on what is in the batch. If the endpoint fails
 * midway, or the bound on calls is reached, the remaining reads stay open for a later batch, and so
 * do those that fail at a new block for a reason that no contract gives.
 *
 * Where calls have no stipend, a part may time out or return too much because of one callee. The
 * next attempt, perhaps at another endpoint, reads each of its callees apart, all at once. One that
 * fails again gets parts of half the size for a while, and the batch size of others stays; one of
 * which a single read fails is heavy, and its reads are isolated.
 *
 * @throws RpcFailure if nothing could be read; `block-unavailable` if the endpoint does not have
 *   the block (yet)
 */
export async function readInParts(options: Options): Promise<BatchReadings> {
  const { endpoint, reads, readSome, isNew, isPast, calleeLimits } = options;
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
    isNew && isErrorAnswer && !isAbout(kind, 'contract');

  /** Learns how many reads of a callee may share a call from a part that timed out or returned too
   * much; returns its readings, or nothing if it is to be halved. */
  async function learnFrom(
    part: readonly Read[],
    failure: RpcFailure,
    limits: CalleeLimits,
  ): Promise<BatchReadings | undefined> {
    const [callee = NO_CALLEE, ...others] = new Set(part.map(calleeOf));
    const known = limits.get(callee);
    if (others.length > 0) {
      for (const each of [callee, ...others]) limits.set(each, limits.get(each) ?? ANY_NUMBER);
    } else if (callee === NO_CALLEE) {
      return undefined;
    } else if (part.length === 1 && (failure.kind === 'endless' || known !== undefined)) {
      await requireBlock(failure);
      limits.set(callee, 0);
      return [PERHAPS_OUT_OF_GAS];
    } else {
      // A popular contract is not heavy because its endpoint was slow once.
      limits.set(callee, Math.max(1, part.length >> 1));
      // What returned too much is halved at once: that takes no time.
      if (failure.kind === 'endless') return undefined;
    }
    if (!isAnyRead) throw failure;
    return part.map(() => undefined);
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
      const thrown = toRpcFailure(error);
      const isOfEndpoint = options.isShielded && thrown.kind === 'reverted';
      const failure = isOfEndpoint ? thrown.as('rpc-error') : thrown;
      const { kind } = failure;
      // A provider that cuts long answers off gives no other sign.
      const isRefusal = failure.isRefusal || kind === 'malformed';
      if (calleeLimits !== undefined && (kind === 'timeout' || kind === 'endless')) {
        const learned = await learnFrom(part, failure, calleeLimits);
        if (learned !== undefined) return learned;
      }
      // A call with a single read cannot be made smaller.
      if ((kind === 'timeout' || kind === 'too-large') && part.length > 1) endpoint.limit.refuse(part.length);
      if (!isRefusal && !isAbout(kind, 'contract')) {
        if (!isAnyRead || kind === 'abandoned') throw failure;
        callsLeft = 0;
        return part.map(() => undefined);
      }
      if (!options.isRepeated && !isAnyRead && isNotYet(failure)) throw failure.as('block-unavailable');
      await requireBlock(failure);
      lastFailure = failure;
      if (part.length > 1) {
        if (kind === 'malformed') endpoint.limit.refuse(part.length);
        const middle = part.length >> 1;
        return [...(await readPart(part.slice(0, middle))), ...(await readPart(part.slice(middle)))];
      }
      if (options.isSuspect && isAbout(kind, 'contract')) return [PERHAPS_OUT_OF_GAS];
      if (isNotYet(failure)) return [undefined];
      // If other reads succeed, the contract caused the oversized answer.
      return [kind === 'endless' ? failed('return-malformed') : failure.reading];
    }
  }

  const readAll = async (some: readonly Read[], sizeMax: number): Promise<BatchReadings> => {
    if (some.length <= sizeMax) return readPart(some);
    const parts: BatchReadings[] = [];
    for (let from = 0; from < some.length; from += sizeMax)
      parts.push(await readPart(some.slice(from, from + sizeMax)));
    return parts.flat();
  };
  const groupOf = (read: Read): string | undefined => {
    const callee = calleeOf(read);
    return calleeLimits?.get(callee) === undefined ? undefined : callee;
  };
  const readings = await readInGroups(reads, groupOf, async (callee, some) => {
    const limit = (callee === undefined ? undefined : calleeLimits?.get(callee)) ?? ANY_NUMBER;
    if (limit === 0) return some.map(() => PERHAPS_OUT_OF_GAS);
    const ofGroup = await readAll(some, Math.min(partMax, limit));
    // It was another one that failed the part in which it was.
    if (callee !== undefined && calleeLimits?.get(callee) === ANY_NUMBER) calleeLimits.delete(callee);
    return ofGroup;
  });
  const isExplained = readings.some(isSuspect) || lastFailure?.kind === 'endless';
  if (lastFailure !== undefined && !isAnyRead && !isExplained)
    throw isNotYet(lastFailure) ? lastFailure.as('block-unavailable') : lastFailure;
  return readings;
}

/** Reads groups of reads apart, all at once; the readings are in the order of the reads. */
export async function readInGroups<Group>(
  reads: readonly Read[],
  groupOf: (read: Read) => Group,
  readGroup: (group: Group, some: readonly Read[]) => BatchReadings | Promise<BatchReadings>,
): Promise<BatchReadings> {
  const [first] = reads;
  if (first === undefined) return [];
  const only = groupOf(first);
  // Nearly always.
  if (reads.every((read) => groupOf(read) === only)) return readGroup(only, reads);
  const groups = [...Map.groupBy(reads, groupOf)];
  const readingsOf = await Promise.all(groups.map(([group, some]) => readGroup(group, some)));
  const byRead = new Map<Read, BatchReadings[number]>();
  for (const [place, [, some]] of groups.entries())
    for (const [index, read] of some.entries()) byRead.set(read, readingsOf[place]?.[index]);
  return reads.map((read) => byRead.get(read));
}
