import { randomBytes, randomUUID } from 'node:crypto';
import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { makeSecretBox, parseKeyRing } from '#shared/secret-box.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { spawnNode } from '../../support/systems/spawn-process.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { cpuSecondsOf } from '../system/cpu-seconds.ts';
import { startStores } from '../system/start-stores.ts';

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
  const { environment, redis, kafka, pids } = await startStores(stack);
  const secretKeys = `1:${randomBytes(32).toString('base64')}`;
  const clientId = `app_${randomUUID()}`;
  await makeClientApps(redis).project(anApp(clientId, secretKeys));
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
      kafka: cpuSecondsOf([pids.kafka]),
      redis: cpuSecondsOf([pids.redis]),
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
