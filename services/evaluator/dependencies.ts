import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Results } from '#shared/stores/checks/results.ts';
import type { Chains } from './chain/connect-chains.ts';
import type { ReadLane } from './domain/read.ts';
import type { ReadBudget } from './lanes/read-budget.ts';
import type { EventLoopShares } from './lanes/share-event-loop.ts';
import type { Prove } from './lanes/sign-proof.ts';
import type { Metrics } from './metrics.ts';

/** The parts of the evaluator that its lanes use, made once at its start; tests replace some of
 * them. */
export type Dependencies = {
  readonly chains: Pick<
    Chains,
    'performReads' | 'proveWallets' | 'isConfigured' | 'nativeDecimals' | 'delegateRegistry'
  >;
  readonly readBudgets: Readonly<Record<ReadLane, Pick<ReadBudget, 'run'>>>;
  readonly eventLoop: Pick<EventLoopShares, 'waitForTick' | 'forEachInSlices'>;
  readonly prove: Prove;
  readonly results: Pick<Results, 'saveIfAbsent'>;
  readonly publish: KafkaConnection['publish'];
  readonly metrics: Pick<Metrics, 'recordEvaluation' | 'recordFailure'>;
  /** Epoch ms, Redis's clock. */
  readonly redisNowMs: () => number;
  /** The time limit of an asynchronous check, from the start of its evaluation. */
  readonly evaluationMsMax: number;
};
