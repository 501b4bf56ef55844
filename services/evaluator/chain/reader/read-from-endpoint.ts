import { failed, type Read } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import type { Capabilities, Endpoint } from '../endpoints/endpoint.ts';
import type { CodeProofs } from './code-proofs.ts';
import type { Quarantine } from './quarantine.ts';
import { readByMulticall3 } from './read-by-multicall3.ts';
import { readByPlainCalls } from './read-by-plain-calls.ts';
import { readByReader } from './read-by-reader.ts';
import { readInParts } from './read-in-parts.ts';
import { readOwn } from './read-own.ts';
import type { BatchReadings } from './readings.ts';

/** Gas of one read: enough for every known token, and low enough that hundreds of gas burners fit in one call. */
const STIPEND = 250_000;
/** Gas of an isolated read, after a failure that too little gas could explain. */
const LARGE_STIPEND = 5_000_000;

/** One endpoint's answer to a batch, in the order of its reads. */
export type BatchAnswer = { readonly readings: BatchReadings; readonly isProved: boolean };

export type BatchRequest = {
  readonly block: Block;
  readonly reads: readonly Read[];
  /** Whether these reads are isolated from other reads, because they failed or burned gas. */
  readonly isIsolated: boolean;
  /** Whether an error that does not depend on what is read means that the endpoint lacks the block. */
  readonly mayLackBlock: boolean;
};

export type ReadFromEndpoint = (
  endpoint: Endpoint,
  request: BatchRequest,
  signal: AbortSignal,
) => Promise<BatchAnswer>;

type Options = {
  /** @throws RpcFailure */
  readonly capabilitiesOf: (endpoint: Endpoint) => Promise<Capabilities>;
  readonly quarantine: Quarantine;
  readonly codeProofs: CodeProofs;
};

/** Makes the function that reads a batch from one endpoint by the best method that the endpoint supports. */
export function makeReadFromEndpoint(options: Options): ReadFromEndpoint {
  const { capabilitiesOf, quarantine, codeProofs } = options;
  return async function readFromEndpoint(endpoint, { block, reads, isIsolated, mayLackBlock }, signal) {
    const capabilities = await capabilitiesOf(endpoint);
    const { method, pin, source } = capabilities;
    const callable = endpoint.asClients;
    // The reader checks for code itself; the other methods cannot distinguish a precompile from a contract.
    const absent =
      method === 'reader' ? undefined : await codeProofs.findAbsent(endpoint, block, reads, pin, signal);
    const readWith = (stipend: number, part: readonly Read[]): Promise<BatchReadings> =>
      readInParts({
        endpoint: callable,
        reads: part,
        readOwn: () => readOwn(callable, block, capabilities, signal),
        mayLackBlock,
        // Multicall3 has no gas stipend per read, so one gas burner can fail the whole call.
        isSuspect: method === 'multicall3' && !isIsolated,
        readSome: (some) => {
          if (method === 'reader')
            return readByReader(callable, block, some, { pin, source, stipend, isIsolated }, signal);
          if (method === 'multicall3')
            return readByMulticall3(callable, block, some, { pin, isIsolated }, signal);
          return readByPlainCalls(callable, block, some, pin, signal);
        },
      });
    const isAbsent = ({ kind, contract }: Read) => kind !== 'native' && absent?.has(contract) === true;
    const readPresent = async (stipend: number, some: readonly Read[]): Promise<BatchReadings> => {
      if (!some.some(isAbsent)) return some.length === 0 ? [] : readWith(stipend, some);
      const present = some.filter((read) => !isAbsent(read));
      const readings = (await readPresent(stipend, present)).values();
      return some.map((read) => (isAbsent(read) ? failed('contract-not-found') : readings.next().value));
    };
    const isProved = method !== 'plain';
    if (!isIsolated) return { readings: await readPresent(STIPEND, reads), isProved };

    // A known gas burner gets the small stipend even when isolated, and no other read shares its call.
    const isBurner = reads.map((read) => quarantine.has(read));
    const burners = reads.filter((_, index) => isBurner[index]);
    const others = reads.filter((_, index) => !isBurner[index]);
    const ofBurners = (await readPresent(STIPEND, burners)).values();
    const ofOthers = (await readPresent(LARGE_STIPEND, others)).values();
    const readings = isBurner.map((is) => (is ? ofBurners : ofOthers).next().value);
    for (const [index, read] of reads.entries()) {
      if (isAbsent(read)) continue;
      if (readings[index] === failed('gas-exhausted')) quarantine.add(read);
      else quarantine.delete(read);
    }
    return { readings, isProved };
  };
}
