import type { BlockReport } from '#shared/contracts/checks/result.ts';
import type { WalletSignIn } from '#shared/contracts/sign-in/sign-in-request.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import { agreeOn } from '../../domain/agree.ts';
import { failed, isDisputed, type Reading } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import type { Heads } from '../blocks/heads.ts';
import { askEndpoints, type Question } from '../endpoints/ask-endpoints.ts';
import { NOT_YET_MS } from '../endpoints/call-lag.ts';
import type { EndpointPool } from '../endpoints/endpoint-pool.ts';
import type { ReadContext } from '../read-chain.ts';
import { askWallet, WALLET_SAYS, type WalletAnswer, type WalletQuestion } from './ask-wallet.ts';
import { hasSuffix, unwrapSignature, type WrappedSignature } from './unwrap-signature.ts';
import { PROVED, REFUSED, UNREAD, type WalletOutcome } from './wallet-outcome.ts';

/** From the beginning of a question to its end, whatever endpoints are asked. */
const QUESTION_MS_MAX = 5_000;

/** Questions that are asked at once, of all client apps. */
const QUESTIONS_MAX = 16;
/** Of one client app, by all evaluators; of more than four each asks one. */
const QUESTIONS_OF_APP_MAX = 4;
/** Questions that wait; beyond, the longest queue loses its newest one. */
const WAITING_MAX = 1_024;

type Dependencies = {
  readonly pool: Question<WalletAnswer>['pool'] & Pick<EndpointPool, 'candidates' | 'ageMs'>;
  readonly heads: Pick<Heads, 'read'>;
  readonly quorum: number;
  /** Number of evaluators that share the bound of an app. */
  readonly poolSize: () => number;
};

export type ProveContext = Pick<ReadContext, 'accountId' | 'clientId' | 'onWait' | 'signal'>;

/** Asks the contract of a wallet whether a signature is its own. Never throws. */
export type ProveByContract = (
  wallet: WalletSignIn,
  context: ProveContext,
) => Promise<{ readonly outcome: WalletOutcome; readonly block?: BlockReport }>;

/**
 * Makes the function that proves wallets of one chain by their contracts, at the newest head:
 *
 * | code at the wallet | suffix | asked |
 * |---|---|---|
 * | no | no | nothing: refused |
 * | yes | no | the signature |
 * | yes | yes | the inner signature; if that fails, once more behind the suffix's call |
 * | no | yes | the inner signature behind the suffix's call |
 */
export function makeProveByContract({ poolSize, ...deps }: Dependencies): ProveByContract {
  // A client chooses the code that wallets run, so the sign-ins of one must not use up the
  // endpoints for the others.
  const questions = new FairTaskQueue({
    atOnceMax: QUESTIONS_MAX,
    ofAppMax: () => Math.max(1, Math.floor(QUESTIONS_OF_APP_MAX / poolSize())),
    waitingMax: WAITING_MAX,
    refusal: 'too many wallets are to be asked',
  });
  const asking = { ...deps, questions };
  return async function proveByContract({ account, hash, signature }, context) {
    const bytes = signature.slice(2);
    const wrapped = hasSuffix(bytes) ? unwrapSignature(bytes) : { signature: bytes };
    if (wrapped === undefined) return { outcome: REFUSED };
    const question = {
      wallet: account.slice(2).toLowerCase(),
      hash: hash.slice(2),
      signature: wrapped.signature,
    };
    context.onWait();
    try {
      const block = await deps.heads.read({ ...context, blockTag: 'latest', minBlock: 0 });
      return await prove(asking, block, question, 'call' in wrapped ? wrapped : undefined, context);
    } catch {
      // Whatever went wrong, the wallet was not asked.
      return { outcome: UNREAD };
    }
  };
}

type Asking = Omit<Dependencies, 'poolSize'> & { readonly questions: FairTaskQueue };

async function prove(
  deps: Asking,
  block: Block,
  question: WalletQuestion,
  wrapped: WrappedSignature | undefined,
  context: ProveContext,
): Promise<Awaited<ReturnType<ProveByContract>>> {
  const first = await ask(deps, block, question, context);
  const isAskedAgain =
    wrapped !== undefined && (first.outcome === REFUSED || first.outcome === WALLET_OUT_OF_GAS);
  const last = isAskedAgain ? await ask(deps, block, { ...question, call: wrapped.call }, context) : first;
  // A wallet that was left without gas once may have been willing.
  const isOutOfGas = last.outcome === REFUSED && first.outcome === WALLET_OUT_OF_GAS;
  const outcome = isOutOfGas ? WALLET_OUT_OF_GAS : last.outcome;
  if (last.outcome === UNREAD) return { outcome };
  const { number, hash, timestamp } = block;
  return { outcome, block: { number, hash, timestamp, proved: first.isProved && last.isProved } };
}

const WALLET_OUT_OF_GAS: WalletOutcome = failed('wallet-gas-exhausted');

/** One question to as many endpoints as the quorum requires. */
async function ask(
  { pool, quorum, questions }: Asking,
  block: Block,
  question: WalletQuestion,
  context: ProveContext,
): Promise<{ readonly outcome: WalletOutcome; readonly isProved: boolean }> {
  const agreed = (answers: readonly WalletAnswer[]) =>
    agreeOn(
      answers.map(({ reading }) => reading),
      quorum,
    );
  const askPool = () => {
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(QUESTION_MS_MAX)]);
    return askEndpoints<WalletAnswer>({
      pool,
      candidates: () => pool.candidates(block),
      isHedged: false,
      quorum,
      isSettled: (known) => !isDisputed(agreed(known)),
      async ask(endpoint, ownSignal, capabilities) {
        await endpoint.lag.wait(pool.ageMs(block), ownSignal);
        // The wallet's code is a client's choice: its failure is no evidence about the endpoint.
        return askWallet(endpoint.forClients(true), block, question, capabilities, ownSignal);
      },
      patienceMs: async () => NOT_YET_MS - pool.ageMs(block),
      signal,
    });
  };
  const { answers } = await questions.run(context, askPool, context.signal);
  if (answers.length === 0) return { outcome: UNREAD, isProved: false };
  return { outcome: outcomeOf(agreed(answers)), isProved: answers.every(({ isProved }) => isProved) };
}

function outcomeOf(reading: Reading): WalletOutcome {
  if (reading.ok) return reading.value === WALLET_SAYS.valid.value ? PROVED : REFUSED;
  return reading.code === 'gas-exhausted' ? WALLET_OUT_OF_GAS : UNREAD;
}
