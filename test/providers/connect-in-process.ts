import { connectTestChains } from '../support/infrastructure/connect-test-chains.ts';
import { followInProcess } from './follow-in-process.ts';
import type { Profile } from './profile.ts';
import type { MinedChain } from './provider/mined-chain.ts';
import { startEndpoints } from './provider/start-endpoints.ts';
import type { Arrangement, Subject } from './subject.ts';

const CHAIN_ID = 31_337;
/** Every provider here answers at once: neither time limit ends on a busy machine. */
const EVALUATION_MS_MAX = 20_000;
const ATTEMPT_MS_MAX = 8_000;

/** Connects the evaluator's chain layer and log follower to the endpoints of an arrangement. */
export async function connectInProcess(
  profile: Profile,
  chain: MinedChain,
  arrangement: Arrangement,
  accounts: readonly string[],
): Promise<Subject> {
  await using scope = new AsyncDisposableStack();
  const { urls, callCount } = await startEndpoints(scope, profile, chain, CHAIN_ID, arrangement);
  const test = scope.use(
    connectTestChains(
      [{ chainId: CHAIN_ID, urls, quorum: arrangement.quorum, blockTimeMs: chain.blockTimeMs }],
      { evaluationMsMax: EVALUATION_MS_MAX, attemptTimeoutMs: ATTEMPT_MS_MAX },
    ),
  );
  const contracts = [chain.erc20, chain.erc721, chain.erc1155].map((contract) => contract.toLowerCase());
  const followed = scope.use(followInProcess(test.chains.followable, contracts, accounts));
  const whole = scope.move();
  return {
    chainId: CHAIN_ID,
    judge: (check) => test.judge(check),
    callCount,
    batchCount: async () => test.batches.length,
    states: async () => followed.states,
    unnoticed: async (moves) =>
      moves
        .filter(({ contract, account, blockNumber }) => !followed.has(contract, account, blockNumber))
        .map(({ contract, account, blockNumber }) => ({ contract, what: `${account} at ${blockNumber}` })),
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}
