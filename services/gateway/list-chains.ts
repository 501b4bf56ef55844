import type { ChainFile } from '#shared/contracts/chain-file.ts';
import type { ApplyLimits } from './apply-limits.ts';
import { type Authenticator, accessProblemOf } from './authenticate.ts';
import { type Request, type Response, sendJson } from './exchange.ts';

export type Dependencies = {
  readonly authenticate: Authenticator['authenticate'];
  readonly applyLimits: ApplyLimits;
  readonly chains: ChainFile['chains'];
};

/** Answers `GET /access-control/chains`: the chains that a rule may name, without their endpoints. */
export function makeListChains({ authenticate, applyLimits, chains }: Dependencies) {
  const json = JSON.stringify({
    chains: chains.map(({ chainId, name, nativeSymbol }) => ({ chainId, name, nativeSymbol })),
  });
  return async function listChains(request: Request, response: Response): Promise<void> {
    const { app } = await authenticate(request, request.ip ?? '');
    await applyLimits({ app, bucket: 'per-second-poll' }, response);
    const denied = accessProblemOf(app);
    if (denied) throw denied;
    sendJson(response, 200, json);
  };
}
