import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { commonConfig, commonEnvironment, loadEnvironment } from '#shared/config.ts';
import { ALL_TOPICS } from '#shared/contracts/topics.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { startKafka } from '../../../deploy/local/infrastructure/kafka.ts';
import { startRedis } from '../../../deploy/local/infrastructure/redis.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { testContext } from '../../support/infrastructure/connections.ts';

/** A Kafka with every topic and a Redis with whole views, for processes that are measured without
 * the rest of a system. They end with the scope. */
export async function startStores(scope: AsyncDisposableStack) {
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-bench-'));
  scope.defer(() => rmSync(dir, { recursive: true, force: true }));
  const [port = 0, controllerPort = 0, redisPort = 0] = await findFreePorts(3);
  const broker = scope.use(await startKafka({ dir: join(dir, 'kafka'), port, controllerPort }));
  const store = scope.use(await startRedis({ dir: join(dir, 'redis'), port: redisPort }));
  const environment = {
    ...{ KAFKA_BROKERS: broker.brokers, REDIS_URL: store.url },
    ...{ OPS_HOST: '127.0.0.1', OPS_PORT: '0' },
  };
  const config = commonConfig(loadEnvironment(z.object(commonEnvironment), environment));
  const { redis } = scope.use(await connectRedis({ ...config, ...config.redis }, testContext()));
  const kafka = scope.use(await connectKafka(config, 'bench', testContext(), { mustHaveTopics: false }));
  await applyTopics(kafka.admin, ALL_TOPICS);
  await redis.set(GENERATION_KEY, 'bench');
  return { environment, config, redis, kafka, pids: { kafka: broker.pid, redis: store.pid } };
}
