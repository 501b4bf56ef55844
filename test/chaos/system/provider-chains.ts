import { healthy, PROFILES } from '../../providers/all-profiles.ts';
import type { Profile } from '../../providers/profile.ts';
import { type Endpoints, startEndpoints } from '../../providers/provider/start-endpoints.ts';
import { type Stages, startStages } from '../../providers/run-profiles.ts';
import type { Arrangement } from '../../providers/subject.ts';

export const QUORUMS = [1, 2] as const;
const FIRST_CHAIN_ID = 32_000;

export type ProviderChain = { readonly chainId: number; readonly endpoints: Endpoints };

/** The chains of a system whose endpoints are simulated providers: one for each profile and
 * arrangement. */
export type ProviderChains = {
  readonly stages: Stages;
  readonly find: (profile: Profile, arrangement: Arrangement) => ProviderChain;
  /** Their entries of the chain file. */
  readonly entries: readonly object[];
};

/** Starts one chain for each block time, and the providers in front of it. */
export async function startProviderChains(scope: AsyncDisposableStack): Promise<ProviderChains> {
  const stages = await startStages(scope, PROFILES);
  const profiles = [...[...stages.keys()].map(healthy), ...PROFILES];
  const chains = new Map<string, ProviderChain>();
  const entries: object[] = [];
  const keyOf = ({ name }: Profile, { isBesideHealthy, quorum }: Arrangement) =>
    `${name}/${isBesideHealthy}/${quorum}`;
  for (const quorum of QUORUMS)
    for (const isBesideHealthy of [true, false])
      for (const profile of profiles) {
        const stage = stages.get(profile.blockTimeMs);
        if (stage === undefined) throw new RangeError(`no chain has blocks of ${profile.blockTimeMs} ms`);
        const chainId = FIRST_CHAIN_ID + entries.length;
        const arrangement = { isBesideHealthy, quorum };
        const endpoints = await startEndpoints(scope, profile, stage.chain, chainId, arrangement);
        chains.set(keyOf(profile, arrangement), { chainId, endpoints });
        entries.push({
          ...{ chainId, name: `Chain ${chainId}`, nativeSymbol: 'ETH', quorum },
          blockTimeMs: profile.blockTimeMs,
          endpoints: endpoints.urls.map((url) => ({ url })),
        });
      }
  return {
    stages,
    entries,
    find(profile, arrangement) {
      const chain = chains.get(keyOf(profile, arrangement));
      if (chain === undefined) throw new RangeError(`${profile.name} has no chain`);
      return chain;
    },
  };
}
