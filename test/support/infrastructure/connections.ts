import { z } from 'zod';
import {
  type CommonConfig,
  commonConfig,
  commonEnvironment,
  type Environment,
  loadEnvironment,
} from '#shared/config.ts';
import { HealthChecks } from '#shared/http/ops-server.ts';
import { connectKafka, type KafkaConnection } from '#shared/kafka/connect.ts';
import { connectRedis, type RedisConnection } from '#shared/redis/connect.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { makeRegistry } from '#shared/telemetry/metrics.ts';
import { infrastructure } from './infrastructure.ts';

/** The context that a service gives its adapters, with a silent log and `fail` as a thrown
 * error. */
export function testContext() {
  return {
    log: makeSilentLogger(),
    metrics: makeRegistry('test'),
    readiness: new HealthChecks(),
    stopping: new AbortController().signal,
    fail: (error: unknown) => {
      throw error;
    },
  };
}

/** So long that no member of a group is expelled because the machine is busy: its records would be
 * processed twice. */
const SESSION_TIMEOUT_MS = 30_000;

/** A test's own commands have no caller that gives up, and a busy machine may stop the process for
 * a second. */
export const COMMAND_TIMEOUT_MS = 60_000;

/**
 * A service's common settings for the infrastructure of this run. Each test file takes a Redis
 * database of its own.
 *
 * @param over variables with other values, such as a short session timeout for a test that waits
 *   until a member is expelled from its group
 */
export function testConfig(redisDatabase: number, over: Environment = {}): CommonConfig {
  const { brokers, redisUrl } = infrastructure();
  const parsed = loadEnvironment(z.object(commonEnvironment), {
    KAFKA_BROKERS: brokers,
    REDIS_URL: `${redisUrl}/${redisDatabase}`,
    KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
    OPS_PORT: '0',
    OPS_HOST: '127.0.0.1',
    LOG_LEVEL: 'silent',
    ...over,
  });
  return commonConfig(parsed);
}

export async function connectTestKafka(config: CommonConfig): Promise<KafkaConnection> {
  return connectKafka(config, 'test', testContext());
}

/** Connects and empties the test file's own database. */
export async function connectTestRedis(config: CommonConfig): Promise<RedisConnection> {
  const connection = await connectRedis({ ...config, ...config.redis }, testContext());
  connection.redis.options.commandTimeout = COMMAND_TIMEOUT_MS;
  await connection.redis.flushdb();
  return connection;
}
