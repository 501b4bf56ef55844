import type { Handle } from '#shared/http/serve-routes.ts';
import { admitRead } from '../auth/admit-request.ts';
import type { Dependencies } from '../dependencies.ts';
import { sendJson } from '../edge/exchange.ts';

/** Answers `GET /access-control/chains`: the chains that a rule may name, without their
 * endpoints. */
export function makeListChains(deps: Dependencies): Handle {
  const json = JSON.stringify({
    chains: deps.chains.map(({ chainId, name, nativeSymbol }) => ({ chainId, name, nativeSymbol })),
  });
  return async function listChains(request, response) {
    await admitRead(deps, request, response);
    sendJson(response, 200, json);
  };
}
