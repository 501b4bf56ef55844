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
    // A known burner gets the small stipend also when it is alone.
    const isKnown = reads.some(({ contract }) => quarantine.has(contract));
    const stipend = isAlone && !isKnown ? LARGE_STIPEND : STIPEND;
    const readSome = (part: readonly Read[]): Promise<BatchReadings> => {
      if (method === 'reader')
        return readByReader(endpoint, block, part, { pin, source, stipend, isAlone }, signal);
      if (method === 'multicall3') return readByMulticall3(endpoint, block, part, { pin, isAlone }, signal);
      return readByPlainCalls(endpoint, block, part, pin, signal);
    };
    const readings = await readInParts(endpoint, reads, readSome);
    for (const [index, reading] of readings.entries())
      if (isAlone && reading === failed('gas-exhausted')) quarantine.add(reads[index]?.contract ?? '');
    return { readings, isProved: method !== 'plain' };
  };
}
