import { randomBytes, randomUUID } from 'node:crypto';
import type { CommonConfig } from '#shared/config.ts';
import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { ALL_TOPICS } from '#shared/contracts/topics.ts';
import type { NewWebhook } from '#shared/contracts/webhooks/webhook.ts';
import { connectKafka, type KafkaConnection } from '#shared/kafka/connect.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeSecretBox, parseKeyRing } from '#shared/secret-box.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { type Deliveries, makeDeliveries } from '#shared/stores/webhooks/deliveries.ts';
import { aWebhookOfCheck } from '../builders/a-check-completed.ts';
import { aClientApp } from '../builders/a-client-app.ts';
import { connectTestRedis, testConfig, testContext } from '../infrastructure/connections.ts';
import { waitUntil } from '../wait-until.ts';
import { type SpawnedProcess, spawnNode } from './spawn-process.ts';

/** The fixture for a test of the real dispatcher: a system of its own on the Kafka and in a
 * database of the Redis of this run, and one client app. */
export type WebhookFixture = AsyncDisposable & {
  /** Names the fixture's own system. */
  readonly config: CommonConfig;
  readonly kafka: KafkaConnection;
  readonly redis: Redis;
  readonly deliveries: Deliveries;
  readonly clientId: string;
  /** `whsec_…` */
  readonly secret: string;
  readonly app: () => ClientApp;
  /** Encrypts a signing secret as the portal does. */
  readonly seal: (secret: string) => string;
  /** Adds a client app with the same signing secret. */
  readonly addApp: (clientId: string) => Promise<void>;
  /** A completed check whose webhook goes to `callbackUrl`. */
  readonly aWebhookCheck: (callbackUrl: string) => NewWebhook;
  /** A dispatcher process with a schedule scaled to a thousandth, on loopback; not yet ready. */
  readonly startDispatcher: (env?: Readonly<Record<string, string>>) => SpawnedProcess;
};

export async function startWebhookFixture(redisDatabase: number): Promise<WebhookFixture> {
  await using stack = new AsyncDisposableStack();
  // The dispatcher's groups have fixed names: what an earlier suite has left in its topics is none
  // of this one's.
  const systemId = `webhooks-${randomUUID().slice(0, 8)}`;
  const config = testConfig(redisDatabase, { SYSTEM_ID: systemId });
  const store = stack.use(await connectTestRedis(config));
  const kafka = stack.use(await connectKafka(config, 'test', testContext(), { mustHaveTopics: false }));
  await applyTopics(kafka.admin, ALL_TOPICS);
  const secretKeys = `1:${randomBytes(32).toString('base64')}`;
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const clientId = `app_${randomUUID()}`;
  const box = makeSecretBox(parseKeyRing(secretKeys));
  const seal = (plain: string) => box.seal(plain, clientId);
  const app = () => anApp(clientId, seal(secret));
  await store.redis.set(GENERATION_KEY, 'test');
  await makeClientApps(store.redis).project(app());
  const running = stack.move();
  return {
    config,
    kafka,
    redis: store.redis,
    deliveries: makeDeliveries(store.redis),
    clientId,
    secret,
    app,
    seal,
    addApp: async (id) => {
      await makeClientApps(store.redis).project(anApp(id, box.seal(secret, id)));
    },
    aWebhookCheck: (callbackUrl) => aWebhookCheck(clientId, callbackUrl),
    startDispatcher: (env = {}) =>
      spawnNode(['services/webhook-dispatcher/main.ts'], {
        SYSTEM_ID: systemId,
        KAFKA_BROKERS: config.kafka.brokers.join(','),
        KAFKA_SESSION_TIMEOUT_MS: '3000',
        REDIS_URL: config.redis.url,
        OPS_HOST: '127.0.0.1',
        OPS_PORT: '0',
        ROLECALL_SECRET_KEYS: secretKeys,
        WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
        WEBHOOK_ALLOW_HTTP: 'true',
        WEBHOOK_SCHEDULE_SCALE: '0.001',
        ...env,
      }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Waits until a spawned service is ready; returns its ops port. */
export async function untilReady(spawned: SpawnedProcess): Promise<number> {
  const port = await waitUntil('the dispatcher to be ready', () => {
    if (spawned.child.exitCode !== null)
      throw new Error(`the dispatcher ended: ${spawned.stderr()}${spawned.stdout()}`);
    return /"opsPort":(\d+),"msg":"ready"/.exec(spawned.stdout())?.[1];
  });
  return Number(port);
}

function aWebhookCheck(clientId: string, callbackUrl: string): NewWebhook {
  const requestId = randomUUID();
  return aWebhookOfCheck(clientId, {
    requestId,
    accountId: 'acc_1',
    callbackUrl,
    resultJson: JSON.stringify({ requestId, status: 'completed', roles: [], errors: [] }),
  });
}

const anApp = (clientId: string, encrypted: string): ClientApp =>
  aClientApp(clientId, {
    webhookSecrets: [{ encrypted, createdAt: new Date().toISOString() }],
  });
