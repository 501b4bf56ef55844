import type { CommonConfig } from './config.ts';
import { startCountingBytes } from './fairness/account-bytes.ts';
import { connectKafka } from './kafka/connect.ts';
import { startClock } from './redis/clock.ts';
import { connectRedis } from './redis/connect.ts';
import type { ServiceContext } from './service-context.ts';
import { joinSystem } from './stores/replay/join-system.ts';
import { watchClock } from './telemetry/metrics.ts';

/**
 * Connects a service to the parts that every service has: Redis and its clock, the count of the
 * bytes that it writes, the brokers. The scope closes them, newest first.
 *
 * @throws ServiceError as `connectRedis`, `connectKafka` and `joinSystem` do
 */
export async function connectSystem(
  service: string,
  scope: AsyncDisposableStack,
  context: ServiceContext,
  config: CommonConfig,
) {
  const store = scope.use(await connectRedis({ ...config, ...config.redis }, context));
  const { redis } = store;
  const clock = scope.use(await startClock(redis));
  watchClock(context.metrics, clock);
  const bytes = scope.use(startCountingBytes(redis, context.log));
  const kafka = scope.use(await connectKafka(config, service, context, { countBytes: bytes.add }));
  scope.use(await joinSystem({ kafka, redis, config, context }));
  return { store, redis, clock, bytes, kafka };
}
