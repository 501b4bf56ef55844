import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogPositions } from '#shared/redis/log-positions.ts';
import { startRepeating } from '#shared/repeat.ts';
import { ChainFollower, type FollowerOptions } from './follow-chain.ts';

/** How often leases are renewed and the followed contracts read: a fifth of the lease. */
const TICK_MS = 1_000;
/** A little more than a block time, so that a block costs at most one fetch of the head. */
const POLL_BLOCKS = 1.1;
const POLL_MS_MIN = 1_000;
/** The pause doubles with each failure in a row, up to this. */
const PAUSE_MS_MAX = 15_000;

export type FollowableChain = Pick<FollowerOptions, 'blockTimeMs' | 'readHead' | 'logs'>;

export type FollowingOptions = {
  readonly chains: ReadonlyMap<number, FollowableChain>;
  readonly positions: LogPositions;
  /** The followed contracts of a chain, in lower case. */
  readonly contractsOf: (chainId: number) => Promise<readonly string[]>;
  readonly followerOf: (
    chainId: number,
  ) => Pick<FollowerOptions, 'watchedAmong' | 'publish' | 'setState' | 'observer'>;
  readonly onError: (error: unknown) => void;
  /** Called when this process begins or ceases to follow a chain. */
  readonly onLease: (chainId: number, isHeld: boolean) => void;
  readonly monotonicMs: () => number;
};

type Following = {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
  contracts: readonly string[];
};

/** Follows the transfers of all chains for which this process gets the lease, until disposal. */
export function startFollowing(options: FollowingOptions): AsyncDisposable {
  const token = randomUUID();
  const following = new Map<number, Following>();
  let isStopped = false;

  const tick = async (): Promise<void> => {
    const ticks = [...options.chains.keys()].map((chainId) => tickOf(chainId).catch(options.onError));
    await Promise.all(ticks);
  };
  const tickOf = async (chainId: number): Promise<void> => {
    const contracts = await options.contractsOf(chainId);
    const held = following.get(chainId);
    if (contracts.length === 0) {
      if (held === undefined) return;
      await end(chainId, held);
      await options.positions.forget(chainId, STREAM);
      await options.positions.release(chainId, token);
      return;
    }
    const isHeld = await options.positions.lease(chainId, token);
    if (isStopped) return;
    if (!isHeld && held !== undefined) await end(chainId, held);
    if (isHeld && held === undefined) begin(chainId, contracts);
    if (isHeld && held !== undefined) held.contracts = contracts;
  };
  const begin = (chainId: number, contracts: readonly string[]): void => {
    const chain = options.chains.get(chainId);
    if (chain === undefined) return;
    const controller = new AbortController();
    const follower = new ChainFollower({
      ...chain,
      ...options.followerOf(chainId),
      load: () => options.positions.load(chainId, STREAM),
      save: (change) => options.positions.save(chainId, STREAM, token, change),
      monotonicMs: options.monotonicMs,
    });
    const current: Following = {
      controller,
      contracts,
      ended: pollUntilEnd(follower, chain.blockTimeMs, () => current.contracts, controller.signal).then(
        () => {
          if (following.get(chainId) === current) following.delete(chainId);
          options.onLease(chainId, false);
        },
      ),
    };
    following.set(chainId, current);
    options.onLease(chainId, true);
  };
  const end = async (chainId: number, held: Following): Promise<void> => {
    held.controller.abort();
    following.delete(chainId);
    await held.ended;
  };

  const ticking = startRepeating(tick, { intervalMs: TICK_MS, startsAtOnce: true });
  return {
    async [Symbol.asyncDispose]() {
      isStopped = true;
      await ticking[Symbol.asyncDispose]();
      for (const [chainId, held] of following) {
        await end(chainId, held);
        // The next process need not wait for the lease to end.
        await options.positions.release(chainId, token).catch(() => undefined);
      }
    },
  };
}

const STREAM = 'latest';

/** Steps once per block until the lease is lost or the signal is aborted. */
async function pollUntilEnd(
  follower: ChainFollower,
  blockTimeMs: number,
  contracts: () => readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const intervalMs = Math.max(POLL_MS_MIN, POLL_BLOCKS * blockTimeMs);
  let failureCount = 0;
  while (!signal.aborted) {
    const startedMs = performance.now();
    const result = await follower.step(contracts(), signal);
    if (result === 'lost') return;
    failureCount = result === 'failed' ? failureCount + 1 : 0;
    const pauseMs = failureCount === 0 ? intervalMs : Math.min(PAUSE_MS_MAX, 500 * 2 ** failureCount);
    const restMs = Math.max(0, startedMs + pauseMs - performance.now());
    await sleep(restMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
