import type { ChainSettings } from '#shared/contracts/chain-file.ts';
import type { EndpointReport } from '#shared/contracts/chain-report.ts';
import { FairShares } from '#shared/fairness/fair-shares.ts';
import { agreeOn, isAnswer } from '../domain/agree.ts';
import { makeBatchReader } from './batching/read-batch.ts';
import { ReadQueue } from './batching/read-queue.ts';
import { traceBatches, traceReads } from './batching/trace-reads.ts';
import { WaitingChecks } from './batching/waiting-checks.ts';
import { findBlock } from './blocks/block.ts';
import { Heads } from './blocks/heads.ts';
import { NearBlocks } from './blocks/near-blocks.ts';
import { PastBlocks } from './blocks/past-blocks.ts';
import type { ChainObserver } from './chain-observer.ts';
import { type CheckedEndpoint, checkEndpoint } from './doctor/check-endpoint.ts';
import { BlockTime } from './endpoints/block-time.ts';
import { type Callable, Endpoint } from './endpoints/endpoint.ts';
import { EndpointPool } from './endpoints/endpoint-pool.ts';
import { probeEndpoint } from './endpoints/probe-endpoint.ts';
import type { FollowableChain } from './logs/follow-chains.ts';
import { LogReader } from './logs/read-logs.ts';
import { makeChainReader, type ReadChain } from './read-chain.ts';
import { makeReadFromEndpoint, readOwn } from './reader/read-from-endpoint.ts';
import { IsolatedReadSlots, QUARANTINE_MS, RememberedNames } from './reader/reads-apart.ts';
import { KeptHashes } from './reader/state-identity.ts';
import { type ConnectedRpc, connectRpc } from './rpc/connect-rpc.ts';
import { makeProveByContract, type ProveByContract } from './wallets/prove-wallet.ts';

/** How far ahead of Redis's clock a head may be, on a chain with `maxHeadAgeMs`: clocks differ by
 * seconds. */
const HEAD_AHEAD_MS_MAX = 60_000;

export type ChainOptions = {
  /** Time limit of one attempt at one endpoint. */
  readonly attemptTimeoutMs: number;
  /** How many checks may wait for one chain that does not answer. */
  readonly waitingMax: number;
  /** Number of evaluators that share the endpoints' rates. */
  readonly poolSize: () => number;
  readonly observerOf: (chainId: number) => ChainObserver;
  /** Epoch ms, Redis's clock. */
  readonly redisNowMs: () => number;
};

type Chain = AsyncDisposable & {
  readonly read: ReadChain;
  readonly proveByContract: ProveByContract;
  readonly isReadable: EndpointPool['isReadable'];
  /** The abilities of an endpoint, found within its rate and beside all that is known of it. */
  readonly check: (checked: CheckedEndpoint, signal: AbortSignal) => Promise<EndpointReport>;
} & FollowableChain;

/** Builds the parts of one chain. It does not wait for any endpoint: probes and reads discover
 * which ones answer. */
export function connectChain(settings: ChainSettings, options: ChainOptions): Chain {
  const { chainId, quorum, maxHeadAgeMs } = settings;
  const blockTime = new BlockTime(settings.blockTimeMs);
  const { attemptTimeoutMs: timeoutMs, poolSize, redisNowMs } = options;
  const observer = options.observerOf(chainId);
  const monotonicMs = () => performance.now();
  const scope = new AsyncDisposableStack();
  const rpcs = settings.endpoints.map(({ url, headers, proxy }) =>
    scope.use(connectRpc({ url, headers, proxy, timeoutMs })),
  );
  const endpoints = settings.endpoints.map(
    ({ name, maxCallsPerBatch, requestsPerSecond }, index) =>
      new Endpoint({
        name: name ?? String(index),
        rpc: rpcs[index] as ConnectedRpc,
        maxCallsPerBatch,
        rateShare: requestsPerSecond === undefined ? undefined : () => requestsPerSecond / poolSize(),
        blockTimestampMsMax: maxHeadAgeMs === undefined ? undefined : () => redisNowMs() + HEAD_AHEAD_MS_MAX,
        onCall: (result, ms) => observer.onCall(String(index), result, ms),
        onDoubt: (endpoint, kind) => pool.doubt(endpoint, kind),
        monotonicMs,
      }),
  );
  const waitingChecks = new WaitingChecks(options.waitingMax);
  const kept = new KeptHashes();
  const pool = new EndpointPool({
    endpoints,
    quorum,
    probe: (endpoint, signal) => probeEndpoint(endpoint, chainId, kept.of(endpoint.name), signal),
    async tryOut(endpoint, block, strikesOf, signal) {
      const callable: Callable = {
        limit: endpoint.limit,
        use: (ownSignal, send) => endpoint.use(ownSignal, send, 'call', strikesOf),
      };
      await readOwn(callable, block, await pool.capabilitiesOf(endpoint), kept.of(endpoint.name), signal);
    },
    blockTime,
    onHedge: observer.onHedge,
    onHealth: ({ name }, health) => observer.onHealth(name, health),
    onQuiet: () => waitingChecks.notifyAll(),
    onSilence: () => waitingChecks.evictExcess(),
    monotonicMs,
  });
  scope.use(pool);
  const closing = new AbortController();
  scope.defer(() => closing.abort());
  const waiting = new FairShares(options.waitingMax);
  const common = { pool, quorum, blockTime, waiting, closed: closing.signal };
  const heads = new Heads({
    ...{ ...common, maxHeadAgeMs, redisNowMs },
    onHead: ({ timestamp }) => observer.onHead(redisNowMs() - timestamp * 1_000),
  });
  const pastBlocks = new PastBlocks({
    ...common,
    headNumber: (signal) => heads.newestNumber(signal),
  });
  const nearBlocks = new NearBlocks(common);
  const quarantine = new RememberedNames(QUARANTINE_MS);
  const performBatch = makeBatchReader({
    pool,
    quorum,
    onBatch: observer.onBatch,
    async isReplaced({ number, hash }, signal) {
      const [endpoint] = pool.candidates();
      if (endpoint === undefined) return false;
      const present = await findBlock(endpoint, number, signal).catch(() => undefined);
      return present !== undefined && present.hash !== hash;
    },
    readFrom: makeReadFromEndpoint({ quarantine, kept }),
  });
  const queue = new ReadQueue({
    perform: traceBatches(chainId, performBatch),
    batchMax: () => Math.max(...endpoints.map(({ limit }) => limit.current)),
    quarantine,
    isolatedReads: new IsolatedReadSlots(poolSize),
    costlyCalls: new IsolatedReadSlots(poolSize),
    isFact: (observation) => isAnswer(agreeOn(observation, quorum)),
    onSaved: observer.onSaved,
  });
  observer.watch({
    endpoints: () => endpoints.map(({ gauges }, index) => ({ ...gauges, endpoint: String(index) })),
    quarantinedCount: () => quarantine.size,
    waitingReadCount: () => queue.waitingCount,
  });
  const read = makeChainReader({
    heads,
    pastBlocks,
    nearBlocks,
    queue,
    ...{ quorum, monotonicMs, waitingChecks, pool, observer },
  });
  return {
    read: traceReads(chainId, read),
    proveByContract: makeProveByContract({ pool, heads, quorum, poolSize }),
    isReadable: () => pool.isReadable(),
    check: (checked, signal) =>
      checkEndpoint(checked, {
        endpoint: (endpoints[checked.index] as Endpoint).twin(),
        arrayMax: (rpcs[checked.index] as ConnectedRpc).arrayMax,
        signal,
        now: redisNowMs,
      }),
    blockTime,
    readHead: (blockTag, signal, gone) =>
      heads.read(
        {
          ...{ blockTag, minBlock: 0, isAside: true, signal },
          ...{ accountId: '', clientId: '', onWait: () => undefined },
        },
        gone,
      ),
    logs: new LogReader({ pool, quorum, blockTime }),
    [Symbol.asyncDispose]: () => scope.disposeAsync(),
  };
}
