import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { z } from 'zod';
import { type CommonConfig, commonConfig, commonEnvironment, loadEnvironment } from '#shared/config.ts';
import { ALL_TOPICS } from '#shared/contracts/topics.ts';
import { HealthChecks } from '#shared/http/ops-server.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import { connectRedis, type RedisConnection } from '#shared/redis/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { makeRegistry } from '#shared/telemetry/metrics.ts';
import { startKafka } from '../../../deploy/local/infrastructure/kafka.ts';
import { startRedis } from '../../../deploy/local/infrastructure/redis.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import type { RunningGateway } from '../../support/systems/start-gateway.ts';

type GatewayParts = AsyncDisposable & {
  readonly config: CommonConfig;
  readonly redis: RedisConnection['redis'];
  /** One metric of a gateway. */
  readonly readMetric: (gateway: RunningGateway, name: string) => Promise<number>;
};

/** A Kafka and a Redis that only the benchmark uses, so that no other work is in the figures. */
export async function startGatewayParts(dir: string): Promise<GatewayParts> {
  await using stack = new AsyncDisposableStack();
  const [port = 0, controllerPort = 0, redisPort = 0] = await findFreePorts(3);
  const broker = stack.use(await startKafka({ dir: join(dir, 'kafka'), port, controllerPort }));
  const store = stack.use(await startRedis({ dir: join(dir, 'redis'), port: redisPort }));
  const admin = new Kafka({ brokers: broker.brokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await applyTopics(admin, ALL_TOPICS);
  await admin.disconnect();
  const environment = { KAFKA_BROKERS: broker.brokers, REDIS_URL: store.url };
  const config = commonConfig(loadEnvironment(z.object(commonEnvironment), environment));
  const context = {
    log: makeSilentLogger(),
    metrics: makeRegistry('bench'),
    readiness: new HealthChecks(),
    stopping: new AbortController().signal,
  };
  const { redis } = stack.use(await connectRedis({ ...config, ...config.redis }, context));
  await redis.set(GENERATION_KEY, 'bench');
  const running = stack.move();
  return {
    config,
    redis,
    async readMetric(gateway, name) {
      const opsPort = /"opsPort":(\d+)/.exec(gateway.process.stdout())?.[1];
      const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
