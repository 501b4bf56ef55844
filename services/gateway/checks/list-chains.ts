import type { Handle } from '#shared/http/serve-routes.ts';
import { admitRead } from '../auth/admit-request.ts';
import type { Dependencies } from '../dependencies.ts';
import { sendJson } from '../edge/exchange.ts';

/** Answers `GET /access-control/chains`: the chains that a rule may name, without their endpoints,
 * and whether each can be read. */
export function makeListChains(deps: Dependencies): Handle {
  const chains = deps.chains.map(({ chainId, name, nativeSymbol }) => ({ chainId, name, nativeSymbol }));
  const chainIds = chains.map(({ chainId }) => chainId);
  return async function listChains(request, response) {
    await admitRead(deps, request, response);
    // The list is known without Redis, so it is answered even if the states are not.
    const states = await deps.readChainStates(chainIds).catch(() => undefined);
    const body = {
      chains: chains.map((chain) => ({ ...chain, ...(states?.get(chain.chainId) ?? { state: 'unknown' }) })),
    };
    sendJson(response, 200, JSON.stringify(body));
  };
}
