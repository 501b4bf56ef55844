import type { ChainFile } from '#shared/contracts/chain-file.ts';
import { type Authenticator, judgeAccess } from './authenticate.ts';
import type { Enter } from './enter.ts';
import { type Request, type Response, sendJson } from './exchange.ts';

export type Dependencies = {
  readonly authenticate: Authenticator['authenticate'];
  readonly enter: Enter;
  readonly chains: ChainFile['chains'];
};

/** Answers `GET /access-control/chains`: what a rule's `chainId` may be. Nothing of the endpoints is shown. */
export function makeListChains({ authenticate, enter, chains }: Dependencies) {
  const json = JSON.stringify({
    chains: chains.map(({ chainId, name, nativeSymbol }) => ({ chainId, name, nativeSymbol })),
  });
  return async function listChains(request: Request, response: Response): Promise<void> {
    const { app } = await authenticate(request, request.ip ?? '');
    await enter({ app, bucket: 'per-second-poll' }, response);
    const denied = judgeAccess(app);
    if (denied) throw denied;
    sendJson(response, 200, json);
  };
}
