import { Registry } from 'prom-client';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { makeGatewayMetrics } from './metrics.ts';
import { startLagSampler } from './sample-lag.ts';

const partitions = (offsets: readonly number[]) =>
  offsets.map((offset, partition) => ({ partition, offset: String(offset), high: String(offset), low: '2' }));

async function sample(ends: readonly number[], committed: readonly number[]) {
  const registry = new Registry();
  const observed: [string, readonly number[]][] = [];
  const looked = Promise.withResolvers<void>();
  const sampler = startLagSampler({
    kafka: {
      admin: {
        fetchTopicOffsets: async () => partitions(ends),
        fetchOffsets: async ({ groupId, topics = [] }) => {
          if (groupId === 'webhook-dispatcher') looked.resolve();
          const list = committed.map((offset, partition) => ({
            partition,
            offset: String(offset),
            metadata: null,
          }));
          return topics.map((topic) => ({ topic: String(topic), partitions: list }));
        },
      },
      observeLag: (topic, lags) => void observed.push([topic, lags]),
    },
    metrics: makeGatewayMetrics(registry),
    now: () => 0,
    log: makeSilentLogger(),
  });
  await looked.promise;
  await new Promise((resolve) => setImmediate(resolve));
  await sampler[Symbol.asyncDispose]();
  return { sampler, observed, text: await registry.metrics() };
}

describe('the sampled lag', () => {
  it('is told to the partitioner by partition, and summed by lane', async () => {
    const { sampler, observed } = await sample([10, 5], [7, 5]);
    expect(observed).toEqual([
      ['check.requested.interactive.v1', [3, 0]],
      ['check.requested.bulk.v1', [3, 0]],
      ['check.requested.batch.v1', [3, 0]],
    ]);
    expect(sampler.laneLag('bulk')).toBe(3);
  });

  it('of a group without a commit counts from the earliest record', async () => {
    const { sampler } = await sample([10, 2], [-1, -1]);
    expect(sampler.laneLag('interactive')).toBe(8);
  });

  it('is there for dashboards under the names that they know', async () => {
    const { text } = await sample([10, 5], [7, 5]);
    expect(text).toContain(
      'rolecall_consumer_lag{group="evaluator.bulk",topic="check.requested.bulk.v1",partition="0"} 3',
    );
    expect(text).toContain(
      'rolecall_consumer_lag{group="result-store",topic="check.completed.v1",partition="1"} 0',
    );
    expect(text).toContain('rolecall_oldest_unfinished_seconds{lane="interactive"} 0');
  });
});
