import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { commonConfig, commonEnvironment, loadEnvironment } from '#shared/config.ts';
import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import { ALL_TOPICS } from '#shared/contracts/topics.ts';
import { HealthChecks } from '#shared/http/ops-server.ts';
import { connectKafka, type KafkaConnection } from '#shared/kafka/connect.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeSecretBox, parseKeyRing } from '#shared/secret-box.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { makeRegistry } from '#shared/telemetry/metrics.ts';
import { startKafka } from '../../../deploy/local/infrastructure/kafka.ts';
import { startRedis } from '../../../deploy/local/infrastructure/redis.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { spawnNode } from '../../support/systems/spawn-process.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { cpuSecondsOf } from '../system/cpu-seconds.ts';

/** CPU seconds that each process has used so far. */
export type CpuSeconds = { readonly dispatcher: number; readonly kafka: number; readonly redis: number };

/** A dispatcher with its own Kafka and Redis, and one client app. */
export type WebhookSystem = AsyncDisposable & {
  readonly kafka: KafkaConnection;
  readonly clientId: string;
  readonly cpuSeconds: () => Promise<CpuSeconds>;
};

/** Starts only the processes that the webhook benchmark needs, so that all CPU time belongs to
 * webhooks. */
export async function startWebhookSystem(): Promise<WebhookSystem> {
  await using stack = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-bench-'));
  stack.defer(() => rmSync(dir, { recursive: true, force: true }));
  const [port = 0, controllerPort = 0, redisPort = 0] = await findFreePorts(3);
  const broker = stack.use(await startKafka({ dir: join(dir, 'kafka'), port, controllerPort }));
  const redis = stack.use(await startRedis({ dir: join(dir, 'redis'), port: redisPort }));
  const environment = {
    KAFKA_BROKERS: broker.brokers,
    REDIS_URL: redis.url,
    OPS_HOST: '127.0.0.1',
    OPS_PORT: '0',
  };
  const config = commonConfig(loadEnvironment(z.object(commonEnvironment), environment));
  const context = {
    log: makeSilentLogger(),
    metrics: makeRegistry('bench'),
    readiness: new HealthChecks(),
    stopping: new AbortController().signal,
    fail: (error: unknown) => {
      throw error;
    },
  };
  const store = stack.use(await connectRedis({ ...config, ...config.redis }, context));
  const kafka = stack.use(await connectKafka(config, 'bench', context, { mustHaveTopics: false }));
  await applyTopics(kafka.admin, ALL_TOPICS);

  const secretKeys = `1:${randomBytes(32).toString('base64')}`;
  const clientId = `app_${randomUUID()}`;
  await store.redis.set(GENERATION_KEY, 'bench');
  await makeClientApps(store.redis).project(anApp(clientId, secretKeys));
  const dispatcher = stack.use(
    spawnNode(['services/webhook-dispatcher/main.ts'], {
      ...environment,
      ROLECALL_SECRET_KEYS: secretKeys,
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      WEBHOOK_ALLOW_HTTP: 'true',
    }),
  );
  await waitUntil('the dispatcher', () => {
    if (dispatcher.child.exitCode !== null) throw new Error(`the dispatcher ended: ${dispatcher.stderr()}`);
    return dispatcher.stdout().includes('"msg":"ready"');
  });
  const running = stack.move();
  return {
    kafka,
    clientId,
    cpuSeconds: async () => ({
      dispatcher: cpuSecondsOf([dispatcher.pid]),
      kafka: cpuSecondsOf([broker.pid]),
      redis: cpuSecondsOf([redis.pid]),
    }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const anApp = (clientId: string, secretKeys: string) => ({
  clientId,
  version: 1,
  accountId: 'acc_bench',
  name: 'bench',
  scope: 'approved' as const,
  suspended: false,
  limits: appLimitsOf({ tier: 'enterprise' }),
  keys: [],
  webhookSecrets: [
    {
      encrypted: makeSecretBox(parseKeyRing(secretKeys)).seal(
        `whsec_${randomBytes(32).toString('base64')}`,
        clientId,
      ),
      createdAt: new Date().toISOString(),
    },
  ],
  createdAt: new Date().toISOString(),
});
