import { failed, type Read } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import type { Capabilities, Endpoint } from '../endpoints/endpoint.ts';
import type { CodeProofs } from './code-proofs.ts';
import type { Quarantine } from './quarantine.ts';
import { readByMulticall3 } from './read-by-multicall3.ts';
import { readByPlainCalls } from './read-by-plain-calls.ts';
import { readByReader } from './read-by-reader.ts';
import { readInParts } from './read-in-parts.ts';
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
  /** Called with an endpoint whose call for reads timed out. */
  readonly onTimeout: (endpoint: Endpoint) => void;
};

/** Makes the function that reads a batch from one endpoint by the best method that the endpoint supports. */
export function makeReadFromEndpoint(options: Options): ReadFromEndpoint {
  const { capabilitiesOf, quarantine, codeProofs, onTimeout } = options;
  return async function readFromEndpoint(endpoint, { block, reads, isIsolated }, signal) {
    const { method, pin, source } = await capabilitiesOf(endpoint);
    // The reader checks for code itself; the other methods cannot distinguish a precompile from a contract.
    const absent =
      method === 'reader' ? undefined : await codeProofs.findAbsent(endpoint, block, reads, pin, signal);
    const readWith = (stipend: number, part: readonly Read[]): Promise<BatchReadings> =>
      readInParts({
        endpoint,
        reads: part,
        // Multicall3 has no gas stipend per read, so one gas burner can fail the whole call.
        isSuspect: method === 'multicall3' && !isIsolated,
        onTimeout: () => onTimeout(endpoint),
        readSome: (some, callable) => {
          if (method === 'reader')
            return readByReader(callable, block, some, { pin, source, stipend, isIsolated }, signal);
          if (method === 'multicall3')
            return readByMulticall3(callable, block, some, { pin, isIsolated }, signal);
          return readByPlainCalls(callable, block, some, pin, signal);
        },
      });
    const byRead = new Map<Read, BatchReadings[number]>();
    const readAll = async (stipend: number, part: readonly Read[]) => {
      if (part.length === 0) return;
      const readings = await readWith(stipend, part);
      for (const [index, read] of part.entries()) byRead.set(read, readings[index]);
    };
    const present = reads.filter(({ kind, contract }) => kind === 'native' || !absent?.has(contract));
    // A known gas burner gets the small stipend even when isolated, and no other read shares its call.
    const burners = isIsolated ? present.filter((read) => quarantine.has(read)) : [];
    await readAll(STIPEND, burners);
    await readAll(
      isIsolated ? LARGE_STIPEND : STIPEND,
      present.filter((read) => !burners.includes(read)),
    );
    if (isIsolated)
      for (const [read, reading] of byRead) {
        if (reading === failed('gas-exhausted')) quarantine.add(read);
        else quarantine.delete(read);
      }
    const readings = reads.map((read) =>
      absent?.has(read.contract) && read.kind !== 'native' ? failed('contract-not-found') : byRead.get(read),
    );
    return { readings, isProved: method !== 'plain' };
  };
}
