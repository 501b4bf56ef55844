import type { ChainSettings } from '#shared/contracts/chain-file.ts';
import type { Observation } from '../domain/read.ts';
import type { Block } from './block.ts';
import type { ChainsOptions } from './connect-chains.ts';
import { connectRpc } from './connect-rpc.ts';
import { type Capabilities, Endpoint } from './endpoint.ts';
import { Heads } from './heads.ts';
import { probeEndpoint } from './probe-endpoint.ts';
import { makeBatchReader } from './read-batch.ts';
import { readByReader } from './read-by-reader.ts';
import { makeChainReader, type ReadChain } from './read-chain.ts';
import { type BatchAnswer, readInParts } from './read-from-endpoint.ts';
import { ReadQueue } from './read-queue.ts';

/** An answer of a thousand reads is 66 kB of hex; a header with its transaction hashes is less. */
const BODY_BYTES_MAX = 4 * 1024 * 1024;

export type Chain = AsyncDisposable & { readonly read: ReadChain };

export function connectChain(settings: ChainSettings, options: ChainsOptions): Chain {
  const { chainId, quorum } = settings;
  const nowMs = () => performance.now();
  const rpcs = settings.endpoints.map(({ url, headers }) =>
    connectRpc({ url, headers, timeoutMs: options.attemptTimeoutMs, bodyBytesMax: BODY_BYTES_MAX }),
  );
  const endpoints = settings.endpoints.map(({ maxCallsPerBatch, requestsPerSecond }, index) => {
    const rpc = rpcs[index];
    if (rpc === undefined) throw new RangeError('an endpoint without its connection');
    return new Endpoint({
      name: String(index),
      rpc,
      maxCallsPerBatch,
      rateShare: requestsPerSecond === undefined ? undefined : () => requestsPerSecond / options.poolSize(),
      observer: { onCall: (endpoint, result, ms) => options.observer.onCall(chainId, endpoint, result, ms) },
      nowMs,
    });
  });
  const candidates = () => endpoints.filter((endpoint) => endpoint.isUsable);
  const capabilitiesOf = (endpoint: Endpoint, signal: AbortSignal): Promise<Capabilities> =>
    endpoint.capabilities === undefined
      ? probeEndpoint(endpoint, chainId, 'evm', signal).then((found) => {
          endpoint.capabilities = found;
          return found;
        })
      : Promise.resolve(endpoint.capabilities);
  const isFact = (observation: Observation) => observation.every(options.isAnswer);
  const heads = new Heads({
    candidates,
    verify: capabilitiesOf,
    quorum,
    blockTimeMs: settings.blockTimeMs,
    maxHeadAgeMs: settings.maxHeadAgeMs,
    now: options.now,
    nowMs,
  });
  const queue = new ReadQueue({
    perform: makeBatchReader({
      candidates: (_block: Block) => candidates(),
      quorum,
      agreeOn: options.agreeOn,
      hedgeAfterMs: (endpoint) => endpoint.latency.p95Ms,
      onBatch: (readCount) => options.observer.onBatch(chainId, readCount),
      readFrom: async (endpoint, block, reads, signal): Promise<BatchAnswer> => {
        const { pin } = await capabilitiesOf(endpoint, signal);
        const how = { pin, source: 'evm', isSecondLookAllowed: true } as const;
        const readings = await readInParts(endpoint, reads, (part) =>
          readByReader(endpoint, block, part, how, signal),
        );
        return { readings, isProved: true };
      },
    }),
    batchMax: () => Math.max(...endpoints.map((endpoint) => endpoint.limit.current)),
    isFact,
    onSaved: (reason) => options.observer.onSaved(chainId, reason),
  });
  return {
    read: makeChainReader({
      heads,
      queue,
      quorum,
      isFact,
      nowMs,
      onSaved: (reason) => options.observer.onSaved(chainId, reason),
    }),
    async [Symbol.asyncDispose]() {
      heads.close();
      await Promise.all(rpcs.map((rpc) => rpc[Symbol.asyncDispose]()));
    },
  };
}
