import { Registry } from 'prom-client';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { makeGatewayMetrics } from '../metrics.ts';
import { type LagSampler, startLagSampler } from './sample-lag.ts';

/** An account whose records may use every partition. */
const OF_ALL = { accountId: 'acc_1', partitionShare: 24 };

const partitions = (offsets: readonly number[]) =>
  offsets.map((offset, partition) => ({ partition, offset: String(offset), high: String(offset), low: '2' }));

async function sample(ends: readonly number[], committed: readonly number[]) {
  const registry = new Registry();
  const observed: [string, readonly number[]][] = [];
  const groups = new Set<string>();
  const looked = Promise.withResolvers<void>();
  const sampler = startLagSampler({
    kafka: {
      admin: {
        fetchTopicOffsets: async () => partitions(ends),
        fetchOffsets: async ({ groupId, topics = [] }) => {
          groups.add(groupId);
          if (groupId === CONSUMER_GROUPS.webhookRetries) looked.resolve();
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
  return { sampler, observed, groups, text: await registry.metrics() };
}

describe('the sampled lag', () => {
  describe('of the lanes', () => {
    beforeEach(() => void jest.useFakeTimers());
    afterEach(() => void jest.useRealTimers());

    /** How often the interactive lane is sampled in ten seconds, where `each` is called once a
     * second. */
    async function samplesOf(lag: number, each: (sampler: LagSampler) => void): Promise<number> {
      const observed: string[] = [];
      const positions = [{ partition: 0, offset: '0', high: String(lag), low: '0' }];
      const sampler = startLagSampler({
        kafka: {
          admin: {
            fetchTopicOffsets: async () => positions,
            fetchOffsets: async ({ topics = [] }) =>
              topics.map((topic) => ({
                topic: String(topic),
                partitions: [{ partition: 0, offset: '0', metadata: null }],
              })),
          },
          observeLag: (topic) => void observed.push(topic),
        },
        metrics: makeGatewayMetrics(new Registry()),
        now: () => 0,
        log: makeSilentLogger(),
      });
      await jest.advanceTimersByTimeAsync(0);
      const before = observed.length;
      for (let second = 0; second < 10; second++) {
        each(sampler);
        await jest.advanceTimersByTimeAsync(1_000);
      }
      await sampler[Symbol.asyncDispose]();
      return (observed.length - before) / 3;
    }

    it('is read every five seconds while it is zero and no request needs it', async () => {
      expect(await samplesOf(0, () => undefined)).toBe(2);
    });

    it('is read every second while checks come, and while there is some', async () => {
      expect(await samplesOf(0, (sampler) => void sampler.laneLag('bulk', OF_ALL))).toBe(10);
      expect(await samplesOf(7, () => undefined)).toBe(10);
    });
  });

  it('is given to the partitioner by partition, and summed by lane', async () => {
    const { sampler, observed } = await sample([10, 5], [7, 5]);
    expect(observed).toEqual([
      ['check.requested.interactive.v1', [3, 0]],
      ['check.requested.bulk.v1', [3, 0]],
      ['check.requested.batch.v1', [3, 0]],
    ]);
    expect(sampler.laneLag('bulk', OF_ALL)).toBe(3);
  });

  it('is to an account that of its own partitions, so that no other one alone fills a lane for it', async () => {
    const { sampler } = await sample([4_002, 2, 2, 2], [2, 2, 2, 2]);
    const lags = Array.from({ length: 40 }, (_, id) =>
      sampler.laneLag('bulk', { accountId: `acc_${id}`, partitionShare: 1 }),
    );
    expect(new Set(lags)).toEqual(new Set([0, 16_000]));
    expect(sampler.laneLag('bulk', { ...OF_ALL, partitionShare: 4 })).toBe(4_000);
  });

  it('is that of every consumer group', async () => {
    const { groups } = await sample([10, 5], [7, 5]);
    const { lanes, ...others } = CONSUMER_GROUPS;
    expect([...groups].sort()).toEqual([...Object.values(lanes), ...Object.values(others)].sort());
  });

  it('counts from the earliest record if the group has no commit', async () => {
    const { sampler } = await sample([10, 2], [-1, -1]);
    expect(sampler.laneLag('interactive', OF_ALL)).toBe(8);
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
