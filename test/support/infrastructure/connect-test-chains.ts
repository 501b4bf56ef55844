import type { BatchPartRequested } from '#shared/contracts/batches/batch.ts';
import { type ChainFile, parseChainFile } from '#shared/contracts/chain-file.ts';
import type { CheckRequested, Lane } from '#shared/contracts/checks/check-requested.ts';
import type { CheckResult } from '#shared/contracts/checks/result.ts';
import type { Rule } from '#shared/contracts/rules/rule.ts';
import { newTraceparent } from '#shared/telemetry/traceparent.ts';
import { type Chains, connectChains } from '../../../services/evaluator/chain/connect-chains.ts';
import { makeEvaluate } from '../../../services/evaluator/lanes/evaluate.ts';
import { anEvaluator, aRecord, linesOf } from '../an-evaluator.ts';
import { aBatchPart } from '../builders/a-batch.ts';
import { aCheckRequested } from '../builders/a-check-requested.ts';

/** The fields of a check that a test sets; the rest is an asynchronous check of one account at the
 * latest block. */
export type TestCheck = Partial<Omit<CheckRequested, 'rules'>> & {
  readonly account: string;
  readonly rules: readonly Rule[];
  readonly lane?: Lane;
};

export type TestChains = AsyncDisposable & {
  readonly chains: Chains;
  judge(check: TestCheck): Promise<CheckResult>;
  /** Evaluates a part of a batch and returns its lines. */
  judgePart(
    part: Pick<BatchPartRequested, 'entries' | 'rules'> & Partial<BatchPartRequested>,
  ): Promise<BatchLine[]>;
  /** Calls of RPC endpoints so far, as `chain/endpoint/result`. */
  readonly calls: string[];
  /** The reported states of endpoints, as `chain/endpoint/state/reason or method`. */
  readonly health: string[];
  readonly saved: Record<string, number>;
  /** Reads per batch. */
  readonly batches: number[];
  /** Checks that waited for a chain, so that a consumer would have parked them. */
  readonly parkedCount: () => number;
};

/** A line of a batch's results. */
export type BatchLine = Pick<CheckResult, 'status' | 'roles' | 'errors' | 'details'> & {
  readonly index: number;
  readonly account: string;
  readonly blockNumbers: Readonly<Record<string, number>>;
};

type TestChain = {
  readonly chainId?: number;
  readonly urls: readonly string[];
  readonly quorum?: number;
  readonly blockTimeMs?: number;
  readonly maxHeadAgeMs?: number;
  readonly requestsPerSecond?: number;
  readonly delegateRegistry?: string;
};

const chainFileOf = (chains: readonly TestChain[]): ChainFile =>
  parseChainFile(
    JSON.stringify({
      chains: chains.map(({ chainId = 31_337, urls, requestsPerSecond, ...rest }) => ({
        chainId,
        name: `Chain ${chainId}`,
        nativeSymbol: 'ETH',
        blockTimeMs: 1_000,
        ...rest,
        endpoints: urls.map((url) => ({ url, requestsPerSecond })),
      })),
    }),
    {},
  );

/**
 * The evaluator's whole pipeline except Kafka: real domain, real chain layer, the result as the
 * client would get it. By default no time limit ends on a busy machine.
 */
export function connectTestChains(
  chains: readonly TestChain[],
  { attemptTimeoutMs = 20_000, evaluationMsMax = 60_000, waitingMax = 1_000, redisNowMs = Date.now } = {},
): TestChains {
  const calls: string[] = [];
  const health: string[] = [];
  const saved: Record<string, number> = {};
  const batches: number[] = [];
  let parkedCount = 0;
  const connected = connectChains(chainFileOf(chains), {
    attemptTimeoutMs,
    waitingMax,
    poolSize: () => 1,
    redisNowMs,
    observerOf: (chainId) => ({
      onCall: (endpoint, result) => void calls.push(`${chainId}/${endpoint}/${result}`),
      onBatch: (readCount) => void batches.push(readCount),
      onSaved: (reason) => {
        saved[reason] = (saved[reason] ?? 0) + 1;
      },
      onRead: () => undefined,
      onHedge: () => undefined,
      onHead: () => undefined,
      onHealth: (endpoint, { state, reason, method }) =>
        void health.push(`${chainId}/${endpoint}/${state}/${reason ?? method}`),
      watch: () => undefined,
    }),
  });
  return {
    chains: connected,
    calls,
    health,
    saved,
    batches,
    parkedCount: () => parkedCount,
    async judge({ lane = 'bulk', ...check }) {
      let isParked = false;
      const { dependencies, results } = anEvaluator({ chains: connected, redisNowMs, evaluationMsMax });
      const park = () => {
        if (!isParked) parkedCount += 1;
        isParked = true;
      };
      await makeEvaluate(dependencies, lane)(
        aCheckRequested('app_1', { requestId: 'req_1', ...check, rules: [...check.rules] }),
        aRecord({ traceparent: newTraceparent(), park }),
      );
      const [result] = results;
      if (result === undefined) throw new Error('nothing was published');
      return result;
    },
    async judgePart(part) {
      const { dependencies, parts } = anEvaluator({ chains: connected, redisNowMs, evaluationMsMax });
      const record = aRecord({ traceparent: newTraceparent() });
      await makeEvaluate(dependencies, 'batch')(aBatchPart('app_1', part), record);
      return linesOf<BatchLine>(parts[0]);
    },
    [Symbol.asyncDispose]: () => connected[Symbol.asyncDispose](),
  };
}
