import { failed, type Read } from '../domain/read.ts';
import type { Block } from './block.ts';
import type { Capabilities, Endpoint } from './endpoint.ts';
import type { Quarantine } from './quarantine.ts';
import { readByMulticall3 } from './read-by-multicall3.ts';
import { readByPlainCalls } from './read-by-plain-calls.ts';
import { type BatchReadings, readByReader } from './read-by-reader.ts';
import { readInParts } from './read-in-parts.ts';

/** Gas of one call: enough for every token seen, little enough that hundreds of burners fit in one call. */
const STIPEND = 250_000;
/** What a read gets that failed in a way that too little gas could explain. */
const LARGE_STIPEND = 5_000_000;

/** One endpoint's answer to a batch, in the order of its reads. */
export type BatchAnswer = { readonly readings: BatchReadings; readonly isProved: boolean };

export type BatchRequest = {
  readonly block: Block;
  readonly reads: readonly Read[];
  /** Whether these reads were set apart from all others, because they fail or burn gas. */
  readonly isAlone: boolean;
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
};

/** Makes the function that reads a batch from one endpoint in the best way that the endpoint has. */
export function makeReadFromEndpoint({ capabilitiesOf, quarantine }: Options): ReadFromEndpoint {
  return async function readFromEndpoint(endpoint, { block, reads, isAlone }, signal) {
    const { method, pin, source } = await capabilitiesOf(endpoint);
    const readWith = (stipend: number, part: readonly Read[]): Promise<BatchReadings> =>
      readInParts({
        endpoint,
        reads: part,
        // Multicall3 has no stipend, so that a burner brings down the whole call.
        isSuspect: method === 'multicall3' && !isAlone,
        readSome: (some, callable) => {
          if (method === 'reader')
            return readByReader(callable, block, some, { pin, source, stipend, isAlone }, signal);
          if (method === 'multicall3')
            return readByMulticall3(callable, block, some, { pin, isAlone }, signal);
          return readByPlainCalls(callable, block, some, pin, signal);
        },
      });
    const isProved = method !== 'plain';
    if (!isAlone) return { readings: await readWith(STIPEND, reads), isProved };
    // A known burner gets the small stipend also here, and no other read shares its call.
    const isBurner = ({ contract }: Read) => quarantine.has(contract);
    const burners = reads.filter(isBurner);
    const others = reads.filter((read) => !isBurner(read));
    const ofBurners = burners.length === 0 ? [] : await readWith(STIPEND, burners);
    const ofOthers = others.length === 0 ? [] : await readWith(LARGE_STIPEND, others);
    const byRead = new Map(
      [...burners, ...others].map((read, index) => [read, [...ofBurners, ...ofOthers][index]]),
    );
    for (const [{ contract }, reading] of byRead)
      if (reading === failed('gas-exhausted')) quarantine.add(contract);
    return { readings: reads.map((read) => byRead.get(read)), isProved };
  };
}
