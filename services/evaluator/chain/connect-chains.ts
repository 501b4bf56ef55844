import { setImmediate } from 'node:timers/promises';
import type { ChainFile } from '#shared/contracts/chain-file.ts';
import type { EndpointReport } from '#shared/contracts/chain-report.ts';
import type { BlockReport } from '#shared/contracts/checks/result.ts';
import { ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import type { Consistency } from '#shared/contracts/rules/rule.ts';
import type { WalletSignIn } from '#shared/contracts/sign-in/sign-in-request.ts';
import type { ChainObservations, Read } from '../domain/read.ts';
import { IsolatedReadBudget } from './batching/entry.ts';
import { type BlockAtInstant, CommonInstant } from './blocks/common-instant.ts';
import { type ChainOptions, connectChain } from './connect-chain.ts';
import { checkAll } from './doctor/check-chains.ts';
import { emptyReport } from './doctor/check-endpoint.ts';
import type { FollowableChain } from './logs/follow-chains.ts';
import type { ReadContext } from './read-chain.ts';
import type { ProveContext } from './wallets/prove-wallet.ts';
import { recoverSigner } from './wallets/recover-signer.ts';
import { PROVED, UNREAD, type WalletOutcome } from './wallets/wallet-outcome.ts';

type PerformReadsContext = ReadContext & {
  readonly consistency: Consistency;
  /** By chain id, the endpoints that are asked only if there are too few others. */
  readonly avoid?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The chains whose amounts are added. */
  readonly atOneInstant: ReadonlySet<number>;
};

/** Performs the planned reads of a check, all chains in parallel: a slow chain does not delay
 * others. Never throws. */
export type PerformReads = (
  reads: ReadonlyMap<number, readonly Read[]>,
  context: PerformReadsContext,
) => Promise<ReadonlyMap<number, ChainObservations>>;

/** The outcomes of the wallets of a check, in their order, and the blocks at which their contracts
 * were asked, by chain id. */
export type ProvenWallets = {
  readonly outcomes: readonly WalletOutcome[];
  readonly blocks: Readonly<Record<string, BlockReport>>;
};

/** Proves the wallets of a check by their signatures, all in parallel. Never throws. */
export type ProveWallets = (
  wallets: readonly WalletSignIn[],
  context: ProveContext,
) => Promise<ProvenWallets>;

export type Chains = AsyncDisposable & {
  readonly performReads: PerformReads;
  readonly proveWallets: ProveWallets;
  /** The chains that checks asked for lately, and whether each can be read. */
  readonly readable: () => ReadonlyMap<number, boolean>;
  /** The abilities of every endpoint, in the order of the chain file. Never throws. */
  readonly check: (signal: AbortSignal) => Promise<EndpointReport[]>;
  readonly isConfigured: (chainId: number) => boolean;
  readonly nativeDecimals: (chainId: number) => number;
  /** The delegation registry of a configured chain. */
  readonly delegateRegistry: (chainId: number) => string;
  /** By chain id: the parts that following its transfers needs. */
  readonly followable: ReadonlyMap<number, FollowableChain>;
};

const NATIVE_DECIMALS = 18;

/**
 * Connects to the chains of the chain file. It does not wait for any endpoint: probes and reads
 * discover which ones answer.
 */
export function connectChains({ chains }: ChainFile, options: ChainOptions): Chains {
  const byId = new Map(
    chains.map((settings) => [settings.chainId, { settings, chain: connectChain(settings, options) }]),
  );
  return {
    readable() {
      const readable = new Map<number, boolean>();
      for (const [chainId, { chain }] of byId) {
        const isReadable = chain.isReadable();
        if (isReadable !== undefined) readable.set(chainId, isReadable);
      }
      return readable;
    },
    check: (signal) =>
      checkAll({ chains }, (checked) => {
        const { chain } = byId.get(checked.chain.chainId) ?? {};
        return chain ? chain.check(checked, signal) : Promise.resolve(emptyReport(checked));
      }),
    isConfigured: (chainId) => byId.has(chainId),
    followable: new Map([...byId].map(([chainId, { chain }]) => [chainId, chain])),
    nativeDecimals: (chainId) => byId.get(chainId)?.settings.nativeDecimals ?? NATIVE_DECIMALS,
    delegateRegistry: (chainId) => byId.get(chainId)?.settings.delegateRegistry ?? ZERO_ADDRESS,
    async performReads(reads, context) {
      const { blockTag, minBlock, atBlock } = context.consistency;
      const together = [...context.atOneInstant].filter(
        (chainId) => reads.has(chainId) && blockTag === 'latest' && atBlock?.[String(chainId)] === undefined,
      );
      const instant = together.length > 1 ? new CommonInstant(together, context.signal) : undefined;
      const isolatedReads = new IsolatedReadBudget(context.lane);
      // All start at once, and none ever rejects, so they can be awaited one after another.
      const reading = [...reads].map(([chainId, ofChain]) => {
        const chain = byId.get(chainId)?.chain;
        if (chain === undefined) throw new RangeError(`chain ${chainId} is not configured`);
        const own = {
          ...context,
          isolatedReads,
          avoid: context.avoid?.[String(chainId)],
          blockTag,
          minBlock: minBlock[String(chainId)] ?? 0,
          atBlock: atBlock?.[String(chainId)],
        };
        if (instant === undefined || !together.includes(chainId))
          return { chainId, observed: chain.read(ofChain, own) };
        const blockAtInstant: BlockAtInstant = (head, find) => instant.blockOf(chainId, head, find);
        const observed = chain.read(ofChain, { ...own, blockAtInstant });
        return { chainId, observed: observed.finally(() => instant.leave(chainId)) };
      });
      const observations = new Map<number, ChainObservations>();
      for (const { chainId, observed } of reading) observations.set(chainId, await observed);
      return observations;
    },
    async proveWallets(wallets, context) {
      // The reads of the check are sent meanwhile.
      await setImmediate();
      const blocks: Record<string, BlockReport> = {};
      const prove = async (wallet: WalletSignIn): Promise<WalletOutcome> => {
        if (recoverSigner(wallet.hash, wallet.signature) === wallet.account.toLowerCase()) return PROVED;
        const proven = await byId.get(wallet.chainId)?.chain.proveByContract(wallet, context);
        if (proven?.block !== undefined) blocks[String(wallet.chainId)] = proven.block;
        return proven?.outcome ?? UNREAD;
      };
      return { outcomes: await Promise.all(wallets.map(prove)), blocks };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...byId.values()].map(({ chain }) => chain[Symbol.asyncDispose]()));
    },
  };
}
