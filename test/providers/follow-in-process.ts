import type { LogPosition, LogPositions } from '#shared/stores/watches/log-positions.ts';
import type { Chains } from '../../services/evaluator/chain/connect-chains.ts';
import { startFollowing } from '../../services/evaluator/chain/logs/follow-chains.ts';

/** What the follower of one chain has published and shown. */
export type Followed = AsyncDisposable & {
  readonly has: (contract: string, account: string, blockNumber: number) => boolean;
  /** By contract, the states that `following` showed, in order. */
  readonly states: ReadonlyMap<string, readonly string[]>;
  readonly errors: readonly unknown[];
};

/** Follows the contracts as an evaluator does, with its position in memory and its records in a
 * list. */
export function followInProcess(
  chains: Chains['followable'],
  contracts: readonly string[],
  accounts: readonly string[],
): Followed {
  const published = new Set<string>();
  const states = new Map<string, string[]>();
  const errors: unknown[] = [];
  const watched = new Set(accounts.map((account) => account.toLowerCase()));
  const following = startFollowing({
    chains,
    positions: positionsInMemory(),
    contractsOf: async () =>
      contracts.map((contractAddress) => ({ contractAddress, blockTag: 'latest' as const })),
    followerOf: () => ({
      watchedAmong: async (some) => new Set(some.filter((account) => watched.has(account))),
      async publish(transfers) {
        for (const { contract, account, blockNumber } of transfers)
          published.add(`${contract}/${account}/${blockNumber}`);
      },
      async setStates(shownFor, state) {
        const text = state.state === 'live' ? 'live' : `sweeps-only: ${state.reason}`;
        for (const contract of shownFor) {
          const shown = states.get(contract) ?? [];
          if (shown.at(-1) !== text) states.set(contract, [...shown, text]);
        }
      },
      observer: {
        onRead: () => undefined,
        onReorg: () => undefined,
        onGap: () => undefined,
        onBehind: () => undefined,
        onError: (error) => void errors.push(error),
      },
    }),
    onError: (error) => void errors.push(error),
    onLease: () => undefined,
    monotonicMs: () => performance.now(),
  });
  return {
    has: (contract, account, blockNumber) =>
      published.has(`${contract.toLowerCase()}/${account.toLowerCase()}/${blockNumber}`),
    states,
    errors,
    [Symbol.asyncDispose]: () => following[Symbol.asyncDispose](),
  };
}

function positionsInMemory(): LogPositions {
  const positions = new Map<string, LogPosition>();
  const keyOf = (chainId: number, stream: string) => `${chainId} ${stream}`;
  return {
    lease: async () => true,
    release: async () => undefined,
    noteReading: async () => true,
    noteRead: async () => undefined,
    noteFork: async () => true,
    forks: async () => [],
    reach: async () => ({ reached: undefined, readAt: undefined }),
    load: async (chainId, stream) => positions.get(keyOf(chainId, stream)),
    forget: async (chainId, stream) => void positions.delete(keyOf(chainId, stream)),
    async save(chainId, stream, _, { blocks: changed, ...rest }) {
      const blocks = new Map(positions.get(keyOf(chainId, stream))?.blocks);
      for (const [number, text] of changed)
        if (text === undefined) blocks.delete(number);
        else blocks.set(number, text);
      positions.set(keyOf(chainId, stream), { ...rest, blocks });
      return true;
    },
  };
}
