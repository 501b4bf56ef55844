import { makeRegistry } from '#shared/telemetry/metrics.ts';
import { makeMetrics } from './metrics.ts';

test('the metrics that dashboards use exist with their documented names and labels', async () => {
  const registry = makeRegistry('evaluator');
  const metrics = makeMetrics(registry, [1, 10]);
  metrics.recordEvaluation(
    {
      requestId: 'r',
      clientId: 'c',
      accountId: 'acc_1',
      keyId: 'key_1',
      account: '0x',
      rules: [
        { type: 'NATIVE', chainId: 1, roleId: 'a', minToken: '1' },
        { type: 'NATIVE', chainId: 10, roleId: 'b', minToken: '1' },
      ],
      onUndetermined: 'omit',
      consistency: { blockTag: 'latest', minBlock: {} },
      delivery: { mode: 'poll' },
      acceptedAt: '',
      retainUntil: '',
    },
    [
      { granted: 1, denied: 0, undetermined: new Map() },
      { granted: 0, denied: 0, undetermined: new Map([['rpc-timeout', 1]]) },
    ],
    0.01,
  );
  const chain = metrics.observerOf(1);
  chain.watch({
    endpoints: () => [
      {
        endpoint: '0',
        breaker: 'open',
        health: { state: 'down', reason: 'unreachable', method: undefined },
        headNumber: 7,
        inFlightCount: 1,
        readsPerCallMax: 500,
      },
    ],
    quarantinedCount: () => 2,
    waitingReadCount: () => 3,
  });
  chain.onCall('0', 'ok', 5);
  chain.onBatch(40);
  chain.onSaved('dedupe');
  const text = await registry.metrics();
  for (const line of [
    /rolecall_verdicts_total\{chain_id="1",outcome="granted".*\} 1/,
    /rolecall_verdicts_total\{chain_id="10",outcome="undetermined".*\} 1/,
    /rolecall_undetermined_total\{chain_id="10",code="rpc-timeout".*\} 1/,
    /rolecall_rpc_calls_total\{chain_id="1",endpoint="0",result="ok".*\} 1/,
    /rolecall_reads_per_call_sum\{.*chain_id="1".*\} 40/,
    /rolecall_reads_saved_total\{chain_id="1",reason="dedupe".*\} 1/,
    /rolecall_reads_saved_total\{chain_id="1",reason="batch".*\} 39/,
    /rolecall_rpc_breaker_state\{endpoint="0",state="open",chain_id="1".*\} 1/,
    /rolecall_rpc_endpoint_state\{endpoint="0",state="down",reason="unreachable",method="unknown",chain_id="1".*\} 1/,
    /rolecall_quarantined_reads\{chain_id="1".*\} 2/,
    /rolecall_waiting_reads\{chain_id="1".*\} 3/,
  ])
    expect(text).toMatch(line);
});
