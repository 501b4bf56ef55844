import { randomUUID } from 'node:crypto';
import type { BlockTag } from '#shared/contracts/rules/rule.ts';
import { startRepeating } from '#shared/repeat.ts';
import type { LogPositions } from '#shared/stores/watches/log-positions.ts';
import { pause } from '#shared/wait-for.ts';
import type { Block } from '../blocks/block.ts';
import { ChainFollower, type FollowerOptions } from './follow-chain.ts';

/** How often leases are renewed and the followed contracts read: a fifth of the lease. */
const TICK_MS = 1_000;
/** A little more than a block time, so that a block costs at most one fetch of the head. */
const POLL_BLOCKS = 1.1;
const POLL_MS_MIN = 1_000;
/** `safe` and `finalized` blocks come rarely, many at a time. */
const POLL_BLOCKS_OF_TAG = 2.2;
/** The pause doubles with each failure in a row, up to this. */
const BACK_OFF_MS_MIN = 500;
const BACK_OFF_MS_MAX = 15_000;

export type FollowableChain = Pick<FollowerOptions, 'blockTime' | 'logs'> & {
  readonly readHead: (blockTag: BlockTag, signal: AbortSignal, gone: readonly Block[]) => Promise<Block>;
};

type FollowingOptions = {
  readonly chains: ReadonlyMap<number, FollowableChain>;
  readonly positions: LogPositions;
  /** The followed contracts of a chain, in lower case. */
  readonly contractsOf: (
    chainId: number,
  ) => Promise<readonly { readonly contractAddress: string; readonly blockTag: BlockTag }[]>;
  readonly followerOf: (
    chainId: number,
    blockTag: BlockTag,
  ) => Pick<FollowerOptions, 'watchedAmong' | 'publish' | 'setStates' | 'observer'>;
  readonly onError: (error: unknown) => void;
  /** Called when this process begins or ceases to follow a chain. */
  readonly onLease: (chainId: number, isHeld: boolean) => void;
  readonly monotonicMs: () => number;
  /** Half of the pause after a first failure, ms. Default 500. */
  readonly backOffMsMin?: number | undefined;
};

/** The follower of one block tag: each has its own position, because each tag reaches a block at
 * another time. */
type Following = {
  readonly controller: AbortController;
  ended: Promise<void>;
  contracts: readonly string[];
};

/**
 * Follows the transfers of the chains for which this process gets the lease, until disposal. A
 * chain without followed contracts costs one command of Redis per second and no call of an
 * endpoint.
 */
export function startFollowing(options: FollowingOptions): AsyncDisposable {
  const chains = [...options.chains].map(([chainId, chain]) => followChain(chainId, chain, options));
  const tick = async (): Promise<void> => {
    await Promise.all(chains.map((chain) => chain.tick().catch(options.onError)));
  };
  const ticking = startRepeating(tick, { intervalMs: TICK_MS, startsAtOnce: true });
  return {
    async [Symbol.asyncDispose]() {
      await ticking[Symbol.asyncDispose]();
      await Promise.all(chains.map((chain) => chain.stop()));
    },
  };
}

function followChain(chainId: number, chain: FollowableChain, options: FollowingOptions) {
  const { positions, contractsOf, followerOf, onError, onLease, monotonicMs, backOffMsMin } = options;
  const token = randomUUID();
  const all = new Map<BlockTag, Following>();
  let [hasLease, isStopped] = [false, false];

  const noteLease = (isHeld: boolean): void => {
    if (isHeld !== hasLease) onLease(chainId, isHeld);
    hasLease = isHeld;
  };
  const release = async (): Promise<void> => {
    noteLease(false);
    await positions.release(chainId, token);
  };
  const begin = (blockTag: BlockTag, contracts: readonly string[]): void => {
    const controller = new AbortController();
    const follower = new ChainFollower({
      ...chain,
      ...followerOf(chainId, blockTag),
      readHead: (signal, gone) => chain.readHead(blockTag, signal, gone),
      load: () => positions.load(chainId, blockTag),
      save: (change) => positions.save(chainId, blockTag, token, change),
      noteReading: (to) => positions.noteReading(chainId, blockTag, token, to),
      noteRead: () => positions.noteRead(chainId, blockTag, token),
      noteFork: (from) => positions.noteFork(chainId, token, from),
      monotonicMs,
    });
    const blocks = blockTag === 'latest' ? POLL_BLOCKS : POLL_BLOCKS_OF_TAG;
    const intervalMs = () => Math.max(POLL_MS_MIN, blocks * chain.blockTime.ms);
    const following: Following = { controller, contracts, ended: Promise.resolve() };
    following.ended = pollUntilEnd(
      follower,
      { intervalMs, backOffMsMin },
      () => following.contracts,
      controller.signal,
    )
      .catch(onError)
      .then(() => {
        if (all.get(blockTag) === following) all.delete(blockTag);
      });
    all.set(blockTag, following);
  };
  const end = async (blockTag: BlockTag, following: Following): Promise<void> => {
    following.controller.abort();
    all.delete(blockTag);
    await following.ended;
  };

  return {
    /** Takes or renews the lease if the chain has followed contracts, and starts and ends followers
     * accordingly. */
    async tick(): Promise<void> {
      const contracts = Map.groupBy(await contractsOf(chainId), ({ blockTag }) => blockTag);
      if (contracts.size === 0 && !hasLease) return;
      const isHeld = await positions.lease(chainId, token);
      if (isStopped) return;
      noteLease(isHeld);
      for (const [blockTag, following] of all) {
        if (isHeld && contracts.has(blockTag)) continue;
        await end(blockTag, following);
        if (isHeld) await positions.forget(chainId, blockTag);
      }
      if (!isHeld) return;
      if (contracts.size === 0) await release();
      for (const [blockTag, followed] of contracts) {
        const addresses = followed.map(({ contractAddress }) => contractAddress);
        const following = all.get(blockTag);
        if (following) following.contracts = addresses;
        else begin(blockTag, addresses);
      }
    },
    async stop(): Promise<void> {
      isStopped = true;
      for (const [blockTag, following] of all) await end(blockTag, following);
      // The next process need not wait for the lease to end.
      if (hasLease) await release().catch(onError);
    },
  };
}

type Waits = { readonly intervalMs: () => number; readonly backOffMsMin: number | undefined };

/** Steps once per interval until the lease is lost or the signal is aborted. */
async function pollUntilEnd(
  follower: ChainFollower,
  { intervalMs, backOffMsMin = BACK_OFF_MS_MIN }: Waits,
  contracts: () => readonly string[],
  signal: AbortSignal,
): Promise<void> {
  let failureCount = 0;
  while (!signal.aborted) {
    const startedMs = performance.now();
    const result = await follower.step(contracts(), signal);
    if (result === 'lost') return;
    failureCount = result === 'failed' ? failureCount + 1 : 0;
    const backOffMs = Math.min(BACK_OFF_MS_MAX, backOffMsMin * 2 ** failureCount);
    const pauseMs = failureCount === 0 ? intervalMs() : backOffMs;
    const restMs = Math.max(0, startedMs + pauseMs - performance.now());
    await pause(restMs, signal);
  }
}
