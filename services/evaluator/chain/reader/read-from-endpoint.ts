import { ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import { ABSENT, failed, isOfContract, type Read } from '../../domain/read.ts';
import type { ReadWay } from '../batching/entry.ts';
import { type Block, blockParameter } from '../blocks/block.ts';
import type { Callable, Capabilities, Endpoint } from '../endpoints/endpoint.ts';
import { isAbout, RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { CallerProofs, CodeProofs, NativeSource } from './learned-facts.ts';
import { readByMulticall3 } from './read-by-multicall3.ts';
import { findSilent, readByPlainCalls } from './read-by-plain-calls.ts';
import { readByReader } from './read-by-reader.ts';
import { readInGroups, readInParts } from './read-in-parts.ts';
import { type Answered, type BatchReadings, RETURNED_NOTHING } from './readings.ts';
import { makeCalleeLimits, type RememberedNames } from './reads-apart.ts';
import type { IdentifyState, KeptHashes } from './state-identity.ts';

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
 * Makes reads of the service's own at a block, in the way that clients' reads take. Their outcome
 * says whether the endpoint can read at this block at all: a failure of a client's call at the same
 * block is then the call's own fault.
 *
 * @param reads default: one, the cheapest
 * @returns whether the state that was read is identified as that of the block
 * @throws RpcFailure
 */
export async function readOwn(
  endpoint: Callable,
  block: Block,
  capabilities: Capabilities,
  identify: IdentifyState,
  signal: AbortSignal,
  reads?: readonly Read[],
): Promise<boolean> {
  const { method, pin } = capabilities;
  const own = { ...capabilities, identify };
  const some = reads ?? [READ];
  if (method === 'plain') {
    if (reads) await readByPlainCalls(endpoint, block, reads, pin, signal);
    else await callZeroAddress(endpoint, blockParameter(block, pin), signal);
    return false;
  }
  const { readings, hasState } = await (method === 'reader'
    ? readByReader(endpoint, block, some, { ...own, stipend: 0, isIsolated: true }, signal)
    : readByMulticall3(endpoint, block, some, { ...own, isIsolated: false }, signal));
  if (readings.includes(undefined)) throw new RpcFailure('gas-exhausted');
  return hasState;
}

/** Calls the zero address: the cheapest `eth_call`. @throws RpcFailure */
export function callZeroAddress(endpoint: Callable, at: string, signal: AbortSignal): Promise<unknown> {
  const params = `[{"to":"${ZERO_ADDRESS}","data":"0x"},${at}]`;
  return endpoint.use(signal, (rpc) => rpc.call({ method: 'eth_call', params }, signal));
}

/** Gas of one read: enough for every known token, and low enough that hundreds of gas burners fit
 * in one call. */
const STIPEND = 250_000;
/** Gas of a read of a contract that needed more: 40 of them fit in a call. */
const MORE_STIPEND = 1_000_000;
/** Gas of an isolated read, after a failure that too little gas could explain. */
const LARGE_STIPEND = 5_000_000;

/** One endpoint's answer to a batch, in the order of its reads. */
export type BatchAnswer = {
  readonly readings: BatchReadings;
  readonly isProved: boolean;
  /** Whether the state that was read is identified as that of the block. */
  readonly hasState: boolean;
};

export type BatchRequest = {
  readonly capabilities: Capabilities;
  readonly block: Block;
  readonly reads: readonly Read[];
  readonly way: ReadWay;
  /** Whether the endpoint may not have the block yet. */
  readonly isNew: boolean;
  /** Whether these reads have failed before at this block. */
  readonly isRepeated: boolean;
  /** Whether a check has named the block, so that the endpoint may not have it any more. */
  readonly isPast: boolean;
};

export type ReadFromEndpoint = (
  endpoint: Endpoint,
  request: BatchRequest,
  signal: AbortSignal,
) => Promise<BatchAnswer>;

type Options = {
  readonly quarantine: RememberedNames;
  readonly kept: KeptHashes;
};

/** Makes the function that reads a batch from one endpoint by the best method that the endpoint
 * supports. */
export function makeReadFromEndpoint({ quarantine, kept }: Options): ReadFromEndpoint {
  const [codeProofs, callerProofs, nativeSource] = [new CodeProofs(), new CallerProofs(), new NativeSource()];
  const calleeLimitsAt = makeCalleeLimits();
  return async function readFromEndpoint(endpoint, request, signal) {
    const { capabilities, block, reads, way, isNew, isRepeated, isPast } = request;
    const { method, pin } = capabilities;
    const callable = endpoint.forClients(isPast);
    const identify = kept.of(endpoint.name);
    const isIsolated = way === 'isolated';
    let hasState = true;
    const note = (answered: Answered): BatchReadings => {
      hasState &&= answered.hasState;
      return answered.readings;
    };
    // The reader checks for code itself; the other methods cannot distinguish a precompile from a
    // contract. What they are told is not proved, so a call must show the same.
    const absent =
      method === 'reader'
        ? undefined
        : await codeProofs.findAbsent(endpoint.name, callable, block, reads, pin, signal);
    const readWith = (stipend: number, part: readonly Read[]): Promise<BatchReadings> =>
      readInParts({
        endpoint: callable,
        reads: part,
        readOwn: () => readOwn(callable, block, capabilities, identify, signal),
        isNew,
        isRepeated,
        isPast,
        // One contract can fail a whole call: Multicall3 has no gas stipend per read, and an endpoint's
        // own bound on gas may be lower than the reader needs.
        isSuspect: method !== 'plain' && !isIsolated,
        isShielded: method === 'reader',
        calleeLimits: method !== 'reader' && !isIsolated ? calleeLimitsAt(endpoint.name) : undefined,
        readSome: async (some) => {
          const own = { ...capabilities, isIsolated, identify };
          if (method === 'reader')
            return note(await readByReader(callable, block, some, { ...own, stipend }, signal));
          if (method === 'multicall3')
            return note(await readByMulticall3(callable, block, some, own, signal));
          return readByPlainCalls(callable, block, some, pin, signal);
        },
      });
    const isAbsent = (read: Read) => isOfContract(read) && absent?.has(read.contract) === true;
    /** The contracts without code of which a call shows the same. */
    const showAbsent = async (some: readonly Read[]): Promise<ReadonlySet<string>> => {
      const firsts = [...new Map(some.map((read) => [read.contract, read])).values()];
      if (method !== 'multicall3') return findSilent(callable, block, firsts, pin, signal);
      const own = { ...capabilities, isIsolated: false, identify };
      const readings = note(await readByMulticall3(callable, block, firsts, own, signal));
      return new Set(firsts.filter((_, index) => readings[index] === RETURNED_NOTHING).map(contractOf));
    };
    const without = absent === undefined || absent.size === 0 ? [] : reads.filter(isAbsent);
    const shown =
      without.length === 0
        ? undefined
        : await showAbsent(without).catch((error: unknown) => {
            // A client chooses the address: its call must not fail the reads of others.
            if (without.length === reads.length || isAbout(toRpcFailure(error).kind, 'block')) throw error;
            return undefined;
          });
    const missing = ({ contract }: Read) => (shown?.has(contract) ? ABSENT : failed('contract-not-found'));
    const readPresent = (stipend: number, some: readonly Read[]): Promise<BatchReadings> =>
      readInGroups(some, isAbsent, (isWithoutCode, group) =>
        isWithoutCode ? group.map(missing) : readWith(stipend, group),
      );
    const readIsolated = async (): Promise<BatchReadings> => {
      // A known gas burner gets the small stipend even when isolated, and no other read shares its
      // call.
      const isBurner = ({ key }: Read) => quarantine.has(key);
      const readings = await readInGroups(reads, isBurner, (isKnown, some) =>
        readPresent(isKnown ? STIPEND : LARGE_STIPEND, some),
      );
      for (const [index, read] of reads.entries()) {
        if (isAbsent(read)) continue;
        if (readings[index] === failed('gas-exhausted')) quarantine.add(read.key);
        else quarantine.delete(read.key);
      }
      return readings;
    };
    const readings = await (isIsolated
      ? readIsolated()
      : readPresent(way === 'shared' ? STIPEND : MORE_STIPEND, reads));
    if (method === 'plain') return { readings, isProved: false, hasState: false };

    const readPlainly = (some: readonly Read[]) => readByPlainCalls(callable, block, some, pin, signal);
    // Where a call of its own was granted, it may be followed by a plain one.
    const mayAskPlainly = isIsolated || way === 'caller';
    const settled = await callerProofs.settle(
      endpoint.name,
      reads,
      readings,
      mayAskPlainly ? readPlainly : undefined,
    );
    const unit = await nativeSource.unitOf(endpoint.name, reads, readings, readPlainly);
    if (unit === 'evm') return { readings: settled, isProved: true, hasState };
    const ofOthers = new Map(reads.map((read, index) => [read, settled[index]]));
    const readNative = (some: readonly Read[]) =>
      unit === 'node' ? readPlainly(some) : some.map(() => unit);
    const merged = await readInGroups(reads, isNative, (isOfNode, some) =>
      isOfNode ? readNative(some) : some.map((read) => ofOthers.get(read)),
    );
    return { readings: merged, isProved: unit !== 'node', hasState: unit !== 'node' && hasState };
  };
}

const contractOf = ({ contract }: Read): string => contract;
const isNative = ({ kind }: Read): boolean => kind === 'native';
