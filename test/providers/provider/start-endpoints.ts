import { healthy } from '../all-profiles.ts';
import type { Profile } from '../profile.ts';
import type { Arrangement } from '../subject.ts';
import type { MinedChain } from './mined-chain.ts';
import { startProvider } from './start-provider.ts';

export type Endpoints = { readonly urls: readonly string[]; readonly callCount: () => number };

/** Starts the endpoints of an arrangement: with a quorum of two, two of the provider, or two
 * healthy ones beside it. */
export async function startEndpoints(
  scope: AsyncDisposableStack,
  profile: Profile,
  chain: MinedChain,
  chainId: number,
  { isBesideHealthy, quorum }: Arrangement,
): Promise<Endpoints> {
  const others = Array<Profile>(quorum).fill(healthy(profile.blockTimeMs));
  const profiles = isBesideHealthy ? [profile, ...others] : Array<Profile>(quorum).fill(profile);
  const providers = await Promise.all(profiles.map((each) => startProvider(each, chain, chainId)));
  for (const provider of providers) scope.use(provider);
  return {
    urls: providers.map(({ url }) => url),
    callCount: () => providers.reduce((sum, provider) => sum + provider.callCount(), 0),
  };
}
