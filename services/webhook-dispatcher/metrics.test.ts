import { Registry } from 'prom-client';
import { makeMetrics } from './metrics.ts';

describe('the metrics of the dispatcher', () => {
  it('count a webhook once in the time to its first attempt, and once in the time to its delivery', async () => {
    const registry = new Registry();
    const { recordAttempt } = makeMetrics(registry);
    const failed = { class: 'http-5xx', durationMs: 500 } as const;
    const delivered = { class: 'delivered', durationMs: 500 } as const;
    recordAttempt(failed, { attempt: 1, state: 'pending', acceptedAtMs: 1_000, atMs: 3_000 });
    recordAttempt(delivered, { attempt: 2, state: 'delivered', acceptedAtMs: 1_000, atMs: 11_000 });
    const text = await registry.metrics();
    expect(text).toContain('rolecall_webhook_first_attempt_seconds_count 1');
    expect(text).toContain('rolecall_webhook_first_attempt_seconds_sum 2');
    expect(text).toContain('rolecall_webhook_delivery_seconds_count 1');
    expect(text).toContain('rolecall_webhook_delivery_seconds_sum 10.5');
  });
});
