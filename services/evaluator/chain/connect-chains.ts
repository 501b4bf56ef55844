import type { ChainFile } from '#shared/contracts/chain-file.ts';
import type { Lane } from '#shared/contracts/check-requested.ts';
import type { Consistency } from '#shared/contracts/rule.ts';
import type { ChainObservations, Observation, Read, Reading } from '../domain/read.ts';
import type { ChainObserver } from './chain-observer.ts';
import { connectChain } from './connect-chain.ts';
import { newAloneBudget } from './entry.ts';
import type { WaitingBounds } from './waiting-room.ts';

export type ReadBalancesContext = {
  readonly lane: Lane;
  readonly clientId: string;
  readonly consistency: Consistency;
  /** Called, perhaps often, when a chain lets the check wait: it may be long. */
  readonly onWait: () => void;
  /** The span that the reads belong to. */
  readonly traceparent: string;
  /** Aborted when the check must end with what it has. */
  readonly signal: AbortSignal;
};

/** Reads what a check planned, every chain by itself: a slow chain holds up no other. Never throws. */
export type ReadBalances = (
  reads: ReadonlyMap<number, readonly Read[]>,
  context: ReadBalancesContext,
) => Promise<ReadonlyMap<number, ChainObservations>>;

export type Chains = AsyncDisposable & {
  readonly readBalances: ReadBalances;
  readonly isConfigured: (chainId: number) => boolean;
  readonly nativeDecimals: (chainId: number) => number;
};

export type ChainsOptions = {
  /** Bound of one attempt at one endpoint. */
  readonly attemptTimeoutMs: number;
  /** How many checks may wait for one chain that does not answer. */
  readonly waitingBounds: WaitingBounds;
  /** Evaluators that share the endpoints' rates. */
  readonly poolSize: () => number;
  readonly agreeOn: (observation: Observation, quorum: number) => Reading;
  readonly isAnswer: (reading: Reading) => boolean;
  readonly observer: ChainObserver;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

const NATIVE_DECIMALS = 18;

/**
 * Connects to the chains of the chain file. Nothing is waited for: an endpoint that is away is found out by
 * the reads that need it.
 */
export function connectChains({ chains }: ChainFile, options: ChainsOptions): Chains {
  const byId = new Map(
    chains.map((settings) => [settings.chainId, { settings, chain: connectChain(settings, options) }]),
  );
  return {
    isConfigured: (chainId) => byId.has(chainId),
    nativeDecimals: (chainId) => byId.get(chainId)?.settings.nativeDecimals ?? NATIVE_DECIMALS,
    async readBalances(reads, { consistency, ...context }) {
      const { blockTag, minBlock } = consistency;
      const aloneBudget = newAloneBudget();
      // All at once; each by itself never fails, so they can be waited for one after another.
      const reading = [...reads].map(([chainId, ofChain]) => {
        const chain = byId.get(chainId)?.chain;
        if (chain === undefined) throw new RangeError(`chain ${chainId} is not configured`);
        const own = { ...context, aloneBudget, blockTag, minBlock: minBlock[String(chainId)] ?? 0 };
        return { chainId, observed: chain.read(ofChain, own) };
      });
      const observations = new Map<number, ChainObservations>();
      for (const { chainId, observed } of reading) observations.set(chainId, await observed);
      return observations;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...byId.values()].map(({ chain }) => chain[Symbol.asyncDispose]()));
    },
  };
}
