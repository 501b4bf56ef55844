import { type Environment, loadCommonConfig, readSecret, withoutEndSlash } from '#shared/config.ts';
import { audit } from '#shared/contracts/apps/audit.ts';
import { ALL_TOPICS, withRetention } from '#shared/contracts/topics.ts';
import { type WebhookRetry, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import { HealthChecks } from '#shared/http/ops-server.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { startClock } from '#shared/redis/clock.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { makeSecretBox, parseKeyRing } from '#shared/secret-box.ts';
import { joinSystem } from '#shared/stores/replay/join-system.ts';
import { makeDeliveries } from '#shared/stores/webhooks/deliveries.ts';
import { makeLogger } from '#shared/telemetry/log.ts';
import { makeRegistry } from '#shared/telemetry/metrics.ts';
import { makeWork } from '../features/work.ts';
import { makeAwaitResend } from './await-resend.ts';
import type { LocalSystem } from './local-system.ts';

/** A command fails fast if the system is not running. */
const DEPENDENCY_WAIT_MS = 5_000;

export type OpenSystem = Awaited<ReturnType<typeof openSystem>>;

/**
 * Connects to a running system for one command.
 *
 * @param actor who it is for, in the audit trail
 * @param processes those of a local system; they are not known of any other
 * @throws ServiceError `config-invalid`, `broker-unavailable`
 */
export async function openSystem(
  env: Environment,
  actor = 'operator',
  processes: LocalSystem['processes'] = [],
) {
  const common = loadCommonConfig({ LOG_LEVEL: 'silent', ...env });
  const config = { ...common, dependencyWaitMs: DEPENDENCY_WAIT_MS };
  const log = makeLogger('admin', config.logLevel);
  const context = {
    log,
    metrics: makeRegistry('admin'),
    readiness: new HealthChecks(),
    stopping: new AbortController().signal,
    fail: (error: unknown) => {
      throw error;
    },
  };
  await using opened = new AsyncDisposableStack();
  const { redis } = opened.use(await connectRedis({ ...config, ...config.redis }, context));
  const clock = opened.use(await startClock(redis));
  const kafka = opened.use(await connectKafka(config, 'admin', context, { mustHaveTopics: false }));
  opened.use(await joinSystem({ kafka, redis, config, context }));
  // The keys are parsed on first use: most commands need none.
  const box = () => makeSecretBox(secretKeysOf(env));
  const awaitResend = makeAwaitResend(makeDeliveries(redis));
  let recorded = false;
  const work = makeWork({
    redis,
    publish: async (topic, message, options) => {
      await kafka.publish(topic, message, options);
      recorded ||= topic.name === audit.name;
      // A command returns only once its resends are in effect; the portal answers once they are
      // published.
      if (topic.name === webhookRequested.name) await awaitResend(message as WebhookRetry);
    },
    box: {
      seal: (...plain) => box().seal(...plain),
      open: (...sealed) => box().open(...sealed),
      reseal: (...sealed) => box().reseal(...sealed),
    },
    now: clock.now,
  });
  const scope = opened.move();
  return {
    ...work,
    actor,
    processes,
    /** Whether an audit entry was written. */
    hasRecorded: () => recorded,
    hasSecretKeys: readSecret(env, 'ROLECALL_SECRET_KEYS') !== undefined,
    clock,
    kafka,
    /** Every topic, as `topics apply` makes it. */
    topics: withRetention(ALL_TOPICS, config.retention),
    retention: config.retention,
    log,
    /** The portal's address in the browser; empty if it is not configured. */
    portalOrigin: withoutEndSlash(env['PORTAL_ORIGIN'] ?? ''),
    [Symbol.asyncDispose]: () => scope.disposeAsync(),
  };
}

function secretKeysOf(env: Environment) {
  const text = readSecret(env, 'ROLECALL_SECRET_KEYS');
  if (!text) throw new ServiceError('config-invalid', 'ROLECALL_SECRET_KEYS: missing');
  return parseKeyRing(text);
}
