import { connectSystem } from '#shared/connect-system.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import {
  RETRY_TIERS,
  webhookAttempted,
  webhookRequested,
  webhookRetry,
} from '#shared/contracts/webhooks/webhook.ts';
import { runService } from '#shared/lifecycle.ts';
import { subscribe } from '#shared/redis/subscribe.ts';
import { makeSecretBox } from '#shared/secret-box.ts';
import { startTogether } from '#shared/start-together.ts';
import { CLIENT_APP_CHANGED, makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { makeObserveSaved } from '#shared/stores/checks/observe-saved.ts';
import { makeResults } from '#shared/stores/checks/results.ts';
import { makeDeliveries } from '#shared/stores/webhooks/deliveries.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { loadConfig, loadSecretKeys, warningsOf } from './config.ts';
import { makeDelivery } from './deliver-webhook.ts';
import { makeAttemptGate } from './delivery/admit-attempt.ts';
import { connectDelivery } from './delivery/attempt-delivery.ts';
import { DeliverySlots, ORIGIN_SLOTS } from './delivery/delivery-slots.ts';
import { makeGuardedConnector, makeResolveHost } from './delivery/guarded-connector.ts';
import { makeSigners } from './delivery/read-signers.ts';
import { makeMetrics } from './metrics.ts';

/** Webhooks processed at once, in each consumer group. */
const WINDOW = 4_096;

const load = () => ({ ...loadConfig(process.env), box: makeSecretBox(loadSecretKeys(process.env)) });

// Composition root: the only file that knows every part of the webhook dispatcher.
await runService('webhook-dispatcher', load, async (scope, context, config) => {
  const { webhook } = config;
  for (const warning of warningsOf(config)) context.log.warn({ warning }, 'unusual configuration');
  const metrics = makeMetrics(context.metrics);

  const { store, clock, bytes, kafka } = await connectSystem('webhook-dispatcher', scope, context, config);
  const deliveries = makeDeliveries(store.redis);
  const signers = makeSigners({
    readClientApp: makeClientApps(store.redis).read,
    open: config.box.open,
    redisNowMs: clock.now,
  });
  await subscribe(await store.subscriber(), CLIENT_APP_CHANGED, {
    onMessage: signers.forget,
    onGap: () => signers.forget(),
  });

  const resolve = makeResolveHost(webhook.dnsServers);
  const { attempt } = scope.use(
    connectDelivery({
      connect: makeGuardedConnector({ ...webhook, resolve }),
      attemptTimeoutMs: webhook.attemptTimeoutMs,
      connectionsPerOriginMax: ORIGIN_SLOTS,
    }),
  );
  const monotonicMs = () => performance.now();
  const slots = scope.use(new DeliverySlots(monotonicMs));
  const gate = makeAttemptGate({ slots, monotonicMs, scale: webhook.scheduleScale });
  const handlers = makeDelivery({
    deliveries,
    gate,
    attempt,
    metrics,
    isFull: bytes.isFull,
    log: context.log,
    results: makeResults(store.redis, makeObserveSaved(context.metrics, clock.now)),
    readSigners: signers.read,
    publishRetry: (tier, message, traceparent) => kafka.publish(webhookRetry[tier], message, { traceparent }),
    publishAttempted: (message, traceparent) => kafka.publish(webhookAttempted, message, { traceparent }),
    redisNowMs: clock.now,
    random: Math.random,
    scale: webhook.scheduleScale,
    userAgent: `Rolecall/${packageJson.version}`,
  });
  const oldestUndeliveredAt = () => deliveries.oldestUndeliveredAt(clock.now());
  metrics.watch({ slots, gate, redisNowMs: clock.now, oldestUndeliveredAt });

  const due = { dueAtOf: ({ dueAt }: { dueAt: string }) => Date.parse(dueAt), now: clock.now };
  // Stopped together: while one drains, the others must not start records.
  scope.use(
    await startTogether([
      kafka.consume({
        groupId: CONSUMER_GROUPS.webhooks,
        topics: [webhookRequested],
        window: WINDOW,
        ...handlers,
      }),
      kafka.consume({
        window: WINDOW,
        ...handlers,
        due,
        groupId: CONSUMER_GROUPS.webhookRetries,
        topics: RETRY_TIERS.map((tier) => webhookRetry[tier]),
      }),
    ]),
  );
});
