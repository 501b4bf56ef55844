import { gunzipSync } from 'node:zlib';
import type { BatchPartRequested } from '#shared/contracts/batches/batch.ts';
import { type ChainFile, parseChainFile } from '#shared/contracts/chain-file.ts';
import type { CheckRequested, Lane } from '#shared/contracts/checks/check-requested.ts';
import { CheckResult } from '#shared/contracts/checks/result.ts';
import type { Rule } from '#shared/contracts/rules/rule.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import { newTraceparent } from '#shared/telemetry/traceparent.ts';
import { type Chains, connectChains } from '../../../services/evaluator/chain/connect-chains.ts';
import { agreeOn, isAnswer } from '../../../services/evaluator/domain/agree.ts';
import { makePartHandler } from '../../../services/evaluator/lanes/handle-part.ts';
import { makeRequestHandler } from '../../../services/evaluator/lanes/handle-request.ts';
import { READS_IN_PROGRESS, ReadBudget } from '../../../services/evaluator/lanes/read-budget.ts';
import { makeSlicing } from '../../../services/evaluator/lanes/slice-work.ts';
import { aBatchPart } from '../builders/a-batch.ts';

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
    agreeOn,
    isAnswer,
    redisNowMs,
    observer: {
      onCall: (chainId, endpoint, result) => void calls.push(`${chainId}/${endpoint}/${result}`),
      onBatch: (_, readCount) => void batches.push(readCount),
      onSaved: (_, reason, count) => {
        saved[reason] = (saved[reason] ?? 0) + count;
      },
      onRead: () => undefined,
      onHedge: () => undefined,
      onHead: () => undefined,
      onHealth: (chainId, endpoint, { state, reason, method }) =>
        void health.push(`${chainId}/${endpoint}/${state}/${reason ?? method}`),
      watch: () => undefined,
    },
  });
  return {
    chains: connected,
    calls,
    health,
    saved,
    batches,
    parkedCount: () => parkedCount,
    async judge({ lane = 'bulk', ...check }) {
      let result: CheckResult | undefined;
      let isParked = false;
      const handle = makeRequestHandler(
        {
          ...connected,
          readBudget: new ReadBudget(READS_IN_PROGRESS.others),
          publishResult: async ({ resultJson }) => {
            result = CheckResult.parse(JSON.parse(resultJson));
          },
          recordMetrics: () => undefined,
          prove: () => undefined,
          waitForTick: () => undefined,
          redisNowMs,
          evaluationMsMax,
        },
        lane,
      );
      const at = new Date().toISOString();
      await handle(
        {
          requestId: 'req_1',
          clientId: 'app_1',
          accountId: 'acc_1',
          keyId: 'key_1',
          onUndetermined: 'omit',
          consistency: { blockTag: 'latest', minBlock: {} },
          delivery: { mode: 'poll' },
          acceptedAt: at,
          retainUntil: at,
          ...check,
          rules: [...check.rules],
        },
        aRecord(() => {
          if (!isParked) parkedCount += 1;
          isParked = true;
        }),
      );
      if (result === undefined) throw new Error('nothing was published');
      return result;
    },
    async judgePart(part) {
      let lines = '';
      const handle = makePartHandler({
        ...connected,
        readBudget: new ReadBudget(READS_IN_PROGRESS.others),
        publish: async ({ linesGzip }) => {
          lines = gunzipSync(Buffer.from(linesGzip, 'base64')).toString();
        },
        recordPart: () => undefined,
        prove: () => undefined,
        forEachInSlices: makeSlicing(
          () => performance.now(),
          () => false,
        ),
        redisNowMs,
        evaluationMsMax,
      });
      await handle(
        aBatchPart('app_1', part),
        aRecord(() => undefined),
      );
      return lines
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as BatchLine);
    },
    [Symbol.asyncDispose]: () => connected[Symbol.asyncDispose](),
  };
}

/** The work record of a check or a part that is never interrupted. */
const aRecord = (park: () => void): RecordContext => ({
  topic: '',
  partition: 0,
  offset: '0',
  key: '',
  headers: {},
  traceparent: newTraceparent(),
  timestampMs: 0,
  value: null,
  signal: new AbortController().signal,
  alive: () => undefined,
  park,
});
