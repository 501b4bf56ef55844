import { Counter, Gauge, Histogram } from 'prom-client';
import type { CheckRequested } from '#shared/contracts/check-requested.ts';
import { type Registry, SECONDS_BUCKETS } from '#shared/telemetry/metrics.ts';
import type { ChainObserver } from './chain/chain-observer.ts';
import type { Verdict } from './domain/judge-rules.ts';

/** Balances that one call carried, up to the hard bound of a batch. */
const READS_BUCKETS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

/** All metrics of an evaluator process. Labels are bounded: an endpoint is named by its place in the chain file. */
export function makeMetrics(registry: Registry) {
  const registers = [registry];
  const verdicts = new Counter({
    name: 'rolecall_verdicts_total',
    help: 'Rules judged, by outcome.',
    labelNames: ['chain_id', 'outcome'],
    registers,
  });
  const undetermined = new Counter({
    name: 'rolecall_undetermined_total',
    help: 'Rules that could not be read, by code.',
    labelNames: ['chain_id', 'code'],
    registers,
  });
  const evaluationSeconds = new Histogram({
    name: 'rolecall_evaluation_seconds',
    help: 'From the start of an evaluation to its published result.',
    buckets: SECONDS_BUCKETS,
    registers,
  });
  return {
    observeCheck({ rules }: CheckRequested, judged: readonly Verdict[], seconds: number): void {
      evaluationSeconds.observe(seconds);
      for (const [index, verdict] of judged.entries()) {
        const chain_id = String(rules[index]?.chainId ?? 0);
        verdicts.inc({ chain_id, outcome: verdict.outcome });
        if (verdict.outcome === 'undetermined') undetermined.inc({ chain_id, code: verdict.code });
      }
    },
    watchClock(skewMs: () => number): void {
      new Gauge({
        name: 'rolecall_clock_skew_seconds',
        help: "How far this process's clock is ahead of Redis's.",
        registers,
        collect() {
          this.set(skewMs() / 1_000);
        },
      });
    },
    chains: makeChainObserver(registers),
  };
}

function makeChainObserver(registers: Registry[]): ChainObserver {
  const calls = new Counter({
    name: 'rolecall_rpc_calls_total',
    help: 'Calls of RPC endpoints, by result.',
    labelNames: ['chain_id', 'endpoint', 'result'],
    registers,
  });
  const callSeconds = new Histogram({
    name: 'rolecall_rpc_call_seconds',
    help: 'Duration of calls of RPC endpoints.',
    labelNames: ['chain_id', 'endpoint'],
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const readsPerCall = new Histogram({
    name: 'rolecall_reads_per_call',
    help: 'Balances that one batch carried.',
    labelNames: ['chain_id'],
    buckets: READS_BUCKETS,
    registers,
  });
  const readsSaved = new Counter({
    name: 'rolecall_reads_saved_total',
    help: 'Reads that were not made because an equal one was on its way or known.',
    labelNames: ['chain_id', 'reason'],
    registers,
  });
  return {
    onCall(chainId, endpoint, result, durationMs) {
      calls.inc({ chain_id: String(chainId), endpoint, result });
      callSeconds.observe({ chain_id: String(chainId), endpoint }, durationMs / 1_000);
    },
    onBatch: (chainId, readCount) => readsPerCall.observe({ chain_id: String(chainId) }, readCount),
    onSaved: (chainId, reason) => readsSaved.inc({ chain_id: String(chainId), reason }),
  };
}
