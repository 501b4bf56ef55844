import { type RpcFaultProxy, startRpcFaultProxy } from '../../support/fakes/rpc-fault-proxy.ts';

/**
 * The chains of a system under faults, all of them the same anvil behind fault proxies: the main
 * chain with an endpoint more than its quorum, a second one with one endpoint, one with a quorum of
 * two out of three, and one without a server.
 */
export const CHAINS = { main: 31_337, other: 31_338, quorum: 31_339, dead: 31_340 } as const;

/** Nothing listens there: it is the port of the discard protocol. */
const NOBODY = 'http://127.0.0.1:9';

export type ChaosChains = {
  readonly main: readonly RpcFaultProxy[];
  readonly other: RpcFaultProxy;
  readonly quorum: readonly RpcFaultProxy[];
};

/** Starts the proxies in front of a chain that may start later.
 * @param mainQuorum how many endpoints of the main chain must agree */
export async function startChaosChains(
  scope: AsyncDisposableStack,
  target: string,
  mainQuorum: number,
): Promise<{ chains: ChaosChains; file: { readonly chains: readonly object[] } }> {
  const proxy = async (chainId: number) => scope.use(await startRpcFaultProxy({ target, chainId }));
  const main = await Promise.all(Array.from({ length: mainQuorum + 1 }, () => proxy(CHAINS.main)));
  const other = await proxy(CHAINS.other);
  const quorum = [await proxy(CHAINS.quorum), await proxy(CHAINS.quorum), await proxy(CHAINS.quorum)];
  const entry = (chainId: number, urls: readonly string[], more = {}) => ({
    chainId,
    name: `Chain ${chainId}`,
    nativeSymbol: 'ETH',
    blockTimeMs: 1_000,
    endpoints: urls.map((url) => ({ url })),
    ...more,
  });
  const urlsOf = (proxies: readonly RpcFaultProxy[]) => proxies.map(({ url }) => url);
  return {
    chains: { main, other, quorum },
    file: {
      chains: [
        entry(CHAINS.main, urlsOf(main), { quorum: mainQuorum }),
        entry(CHAINS.other, [other.url]),
        entry(CHAINS.quorum, urlsOf(quorum), { quorum: 2 }),
        entry(CHAINS.dead, [NOBODY]),
      ],
    },
  };
}
