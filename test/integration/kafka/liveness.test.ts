// Scenario: consumers on a real broker whose handler hangs, or holds a record because a dependency
// is away. A restart repairs the first, so it is reported dead; it would not help the second, so
// that one is reported alive.
import { randomUUID } from 'node:crypto';
import { type CheckCompleted, checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { deadLetterSpecOf } from '#shared/contracts/topic.ts';
import { ServiceError } from '#shared/errors.ts';
import { HealthChecks } from '#shared/http/ops-server.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { makeLogger } from '#shared/telemetry/log.ts';
import { aCheckCompleted } from '../../support/builders/a-check-completed.ts';
import { connectTestRedis, testConfig, testContext } from '../../support/infrastructure/connections.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Longer than the pause between two tries of a held record. */
const STALL_MS = 3_000;

async function consume(requestId: string, handle: (signal: AbortSignal) => Promise<void>) {
  const stack = new AsyncDisposableStack();
  const liveness = new HealthChecks();
  const context = { ...testContext(), liveness };
  const kafka = stack.use(
    await connectKafka({ ...testConfig(2), livenessStallMs: STALL_MS }, 'test', context),
  );
  stack.use(
    await kafka.consume<CheckCompleted>({
      groupId: `test.${randomUUID()}`,
      topics: [checkCompleted],
      window: 64,
      handle: async (message, { signal }) => {
        if (message.requestId === requestId) await handle(signal);
      },
    }),
  );
  await kafka.publish(checkCompleted, aCheckCompleted('app_liveness', { requestId }));
  const text = () => context.metrics.metrics();
  return { liveness, kafka, text, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test('a consumer with a hanging record is dead and names the record', async () => {
  await using consumer = await consume(randomUUID(), (signal) => {
    // It ends only with the test.
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  });
  const faults = await waitUntil('the fault', () => {
    const { isWell, checks } = consumer.liveness.judge();
    return !isWell && checks;
  });
  expect(Object.keys(faults)).toEqual([expect.stringMatching(/^test\./)]);
});

test('a consumer that holds a record because a store is away is alive', async () => {
  let tries = 0;
  await using consumer = await consume(randomUUID(), async () => {
    tries++;
    throw new ServiceError('store-unavailable', 'away');
  });
  const began = performance.now();
  // Longer than it takes to detect a hanging consumer.
  await waitUntil('tries', () => tries > 3 && performance.now() - began > 2 * STALL_MS);
  // A busy machine may delay one try beyond the bound; a hanging consumer is dead for good.
  await waitUntil('no fault', () => consumer.liveness.judge().isWell);
});

test('a consumer without a partition logs the names of its group and topic', async () => {
  const lines: string[] = [];
  const log = makeLogger('test', 'warn', { write: (line) => void lines.push(line) });
  await using kafka = await connectKafka(testConfig(2), 'test', { ...testContext(), log });
  await using stack = new AsyncDisposableStack();
  const groupId = `test.${randomUUID()}`;
  // The topic with the fewest partitions.
  const topic = { ...checkCompleted, ...deadLetterSpecOf(checkCompleted) };
  // One after the other: of consumers of one group that stop together, kafkajs may leave timers
  // behind.
  for (let count = 0; count <= topic.partitionCount; count++)
    stack.use(await kafka.consume({ groupId, topics: [topic], window: 1, handle: async () => undefined }));
  const said = await waitUntil('the warning', () => lines.find((line) => line.includes('no partition')));
  expect(JSON.parse(said)).toMatchObject({ group: groupId, topics: [topic.name] });
});

test('a service warns of a Redis that may drop results, and names the setting', async () => {
  const lines: string[] = [];
  const log = makeLogger('test', 'warn', { write: (line) => void lines.push(line) });
  const config = testConfig(2);
  await using first = await connectTestRedis(config);
  try {
    await first.redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await using _ = await connectRedis({ ...config, ...config.redis }, { ...testContext(), log });
    expect(lines.join()).toContain('"maxmemory-policy":"allkeys-lru"');
  } finally {
    await first.redis.config('SET', 'maxmemory-policy', 'noeviction');
  }
});

test('the metrics of a consumer show its membership, its partitions and its rebalances', async () => {
  await using consumer = await consume(randomUUID(), async () => undefined);
  const text = await consumer.text();
  expect(text).toMatch(/rolecall_consumer_joined\{.*group="test\..*\} 1/);
  expect(text).toMatch(/rolecall_consumer_partitions\{.*\} 24/);
  expect(text).toMatch(/rolecall_consumer_rebalances_total\{.*\} [1-9]/);
  expect(text).toMatch(/rolecall_consumer_crashes_total\{.*\} 0/);
});
