import { gunzipSync } from 'node:zlib';
import type { BatchPartCompleted } from '#shared/contracts/batches/batch.ts';
import { CheckResult } from '#shared/contracts/checks/result.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import type { Dependencies } from '../../services/evaluator/dependencies.ts';
import { READS_IN_PROGRESS, ReadBudget } from '../../services/evaluator/lanes/read-budget.ts';
import { makeEventLoopShares } from '../../services/evaluator/lanes/share-event-loop.ts';

/** An evaluator over some chains that keeps its answers instead of publishing them. */
export function anEvaluator(over: Pick<Dependencies, 'chains'> & Partial<Dependencies>) {
  const results: CheckResult[] = [];
  const parts: BatchPartCompleted[] = [];
  const readBudget = new ReadBudget(READS_IN_PROGRESS.others);
  const dependencies: Dependencies = {
    readBudgets: { interactive: readBudget, bulk: readBudget, batch: readBudget },
    eventLoop: makeEventLoopShares(),
    prove: () => undefined,
    results: { saveIfAbsent: async ({ resultJson }) => resultJson },
    async publish(_, message) {
      const answer = message as { readonly resultJson: string } | BatchPartCompleted;
      if ('linesGzip' in answer) parts.push(answer);
      else results.push(CheckResult.parse(JSON.parse(answer.resultJson)));
    },
    metrics: { recordEvaluation: () => undefined, recordFailure: () => undefined },
    redisNowMs: Date.now,
    evaluationMsMax: 30_000,
    ...over,
  };
  return { dependencies, results, parts };
}

/** The lines of a part's results. */
export const linesOf = <Line = Record<string, unknown>>(part: BatchPartCompleted | undefined): Line[] =>
  gunzipSync(Buffer.from(part?.linesGzip ?? '', 'base64'))
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

/** The record of a check or a part, which nothing interrupts. */
export const aRecord = (over: Partial<RecordContext> = {}): RecordContext => ({
  topic: 'check.requested.bulk.v1',
  partition: 0,
  offset: '0',
  key: 'req_1',
  headers: {},
  traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`,
  timestampMs: 0,
  value: null,
  signal: new AbortController().signal,
  alive: () => undefined,
  park: () => undefined,
  ...over,
});
