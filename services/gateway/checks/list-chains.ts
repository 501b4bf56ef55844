import type { ChainFile } from '#shared/contracts/chain-file.ts';
import { type Dependencies as AdmitDependencies, admitRead } from '../auth/admit-request.ts';
import { type Request, type Response, sendJson } from '../edge/exchange.ts';

export type Dependencies = AdmitDependencies & { readonly chains: ChainFile['chains'] };

/** Answers `GET /access-control/chains`: the chains that a rule may name, without their endpoints. */
export function makeListChains({ chains, ...deps }: Dependencies) {
  const json = JSON.stringify({
    chains: chains.map(({ chainId, name, nativeSymbol }) => ({ chainId, name, nativeSymbol })),
  });
  return async function listChains(request: Request, response: Response): Promise<void> {
    await admitRead(deps, request, response);
    sendJson(response, 200, json);
  };
}
