import { webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { makeAccountBytes, startCountingBytes } from '#shared/fairness/account-bytes.ts';
import { makeThrottle } from '#shared/fairness/throttle.ts';
import { startHttpServer } from '#shared/http/http-server.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { runService } from '#shared/lifecycle.ts';
import { startClock } from '#shared/redis/clock.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { makeSecretBox } from '#shared/secret-box.ts';
import { makeKeyUse } from '#shared/stores/apps/key-use.ts';
import { readMonthUsed } from '#shared/stores/checks/admit.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { watchClock } from '#shared/telemetry/metrics.ts';
import { makeApp } from './app.ts';
import { loadChains, loadConfig, loadMailSettings, loadSecretKeys } from './config.ts';
import { makeAccountHandlers } from './features/accounts/handle-accounts.ts';
import { makeForgottenPasswordHandlers } from './features/accounts/handle-forgotten-password.ts';
import { makeMailer } from './features/accounts/mailer.ts';
import { makePasswords } from './features/accounts/passwords.ts';
import { makeProvePassword } from './features/accounts/prove-password.ts';
import { makeReadOwn, makeRequirePermission } from './features/apps/app-access.ts';
import { makeAppHandlers } from './features/apps/handle-apps.ts';
import { makeBatchHandlers } from './features/batches/handle-batches.ts';
import { makeCheckHandlers } from './features/checks/handle-checks.ts';
import { makeReadSentCheck } from './features/checks/read-sent-check.ts';
import { makeRecordReads } from './features/checks/record-reads.ts';
import { makeTryHandlers } from './features/checks/try-check.ts';
import { makeDeliveryHandlers } from './features/deliveries/handle-deliveries.ts';
import { makeReadReceiverAnswer } from './features/deliveries/read-receiver-answer.ts';
import { makeWork } from './features/make-work.ts';
import { makeCountDeadLetters } from './features/operator/count-dead-letters.ts';
import { makeOperatorHandlers } from './features/operator/handle-operator.ts';
import { makeOperatorViewHandlers } from './features/operator/handle-operator-views.ts';
import { makeRuleSetHandlers } from './features/rule-sets/handle-rule-sets.ts';
import { makeSessionHandlers } from './features/sessions/handle-sessions.ts';
import { makeTwoFactorHandlers } from './features/sessions/handle-two-factor.ts';
import { makeSessions } from './features/sessions/sessions.ts';
import { makeMemberHandlers } from './features/team/handle-members.ts';
import { makeInsightHandlers } from './features/usage/handle-insight.ts';
import { makeWatchHandlers } from './features/watches/handle-watches.ts';
import { makeReadWatchEvents } from './features/watches/read-watch-events.ts';
import { describeClientError } from './http/describe-client-error.ts';
import { makeIdempotency } from './http/idempotency.ts';
import { makeMetrics } from './metrics.ts';

/** How long readiness fails before the listener closes. */
const READINESS_LEAD_MS = 500;

// Composition root: the only file that knows every part of the portal.
await runService(
  'developer-portal',
  () => loadConfig(process.env),
  async (scope, context, config) => {
    const box = makeSecretBox(loadSecretKeys(process.env));
    const { redis } = scope.use(await connectRedis({ ...config, ...config.redis }, context));
    const clock = scope.use(await startClock(redis));
    const { now } = clock;
    watchClock(context.metrics, clock);
    const bytes = scope.use(startCountingBytes(redis, context.log));
    const kafka = scope.use(
      await connectKafka(config, 'developer-portal', context, { countBytes: bytes.add }),
    );
    const store = openViews(redis);
    const work = makeWork({ redis, store, publish: kafka.publish, box, now });
    const sessions = makeSessions({ redis, readAccount: store.accounts.read, ...config.session });
    const throttle = makeThrottle(redis);
    const accountBytes = makeAccountBytes(redis);
    const recordReads = makeRecordReads();
    const passwords = makePasswords({ ln: config.passwordCost });
    const provePassword = makeProvePassword({ passwords, throttle });
    const idempotency = makeIdempotency(redis, box);
    const readOwn = makeReadOwn(work);
    const readUsed = (clientId: string, month: string) => readMonthUsed(redis, clientId, month);
    const chains = loadChains(config.chainsFile, process.env);
    const portalMetrics = makeMetrics(context.metrics);
    const mailSettings = loadMailSettings(process.env);
    const mail = mailSettings && {
      origin: mailSettings.origin,
      mailer: scope.use(makeMailer(mailSettings, { metrics: portalMetrics, log: context.log })),
    };
    const handlers = {
      ...makeAccountHandlers({
        ...store,
        ...work,
        passwords,
        sessions,
        throttle,
        signUpsPerHour: config.signUpsPerHour,
      }),
      ...makeSessionHandlers({ sessions }),
      ...makeForgottenPasswordHandlers({ ...store, ...work, throttle, mail }),
      ...makeTwoFactorHandlers({ ...work, provePassword, sessions }),
      ...makeAppHandlers({
        ...store,
        ...work,
        keyUse: makeKeyUse(redis),
        idempotency,
        callbackPolicy: config.callback,
        now,
      }),
      ...makeDeliveryHandlers({
        ...store,
        ...work,
        readOwn,
        throttle,
        requireRoom: accountBytes.requireRoom,
        readReceiverAnswer: makeReadReceiverAnswer(kafka, recordReads),
        idempotency,
        publishDelivery: (message) => kafka.publish(webhookRequested, message),
        callbackPolicy: config.callback,
        now,
      }),
      ...makeCheckHandlers({
        ...store,
        readOwn,
        readSentCheck: makeReadSentCheck(kafka, recordReads),
        publicUrl: config.gateway.publicUrl,
      }),
      ...makeBatchHandlers({
        ...store,
        readOwn,
        readMonthUsed: readUsed,
        gatewayUrl: config.gateway.url,
        fetch: globalThis.fetch,
        now,
      }),
      ...makeWatchHandlers({
        ...store,
        ...work,
        readOwn,
        watchEvents: makeReadWatchEvents({ ...store, now }),
      }),
      ...makeMemberHandlers({ ...store, ...work, readOwn, idempotency, now }),
      ...makeInsightHandlers({
        ...store,
        readOwn,
        readBytes: accountBytes.read,
        readMonthUsed: readUsed,
        now,
      }),
      ...makeOperatorHandlers({
        ...store,
        ...work,
        countDeadLetters: makeCountDeadLetters(kafka, () => performance.now()),
      }),
      ...makeOperatorViewHandlers({
        ...store,
        ...work,
        keyUse: makeKeyUse(redis),
        sessions,
        readMonthUsed: readUsed,
        now,
      }),
      ...makeRuleSetHandlers({ ...store, ...work, readOwn, chains }),
      ...makeTryHandlers({
        readOwn,
        gatewayUrl: config.gateway.url,
        publicUrl: config.gateway.publicUrl,
        fetch: globalThis.fetch,
        chains,
        demo: config.demo,
      }),
    };
    const app = makeApp({
      handlers,
      sessions,
      requirePermission: makeRequirePermission({ ...store, ...work }),
      throttle,
      origin: config.origin,
      gatewayPublicUrl: config.gateway.publicUrl,
      sessionMsMax: config.session.lifeMsMax,
      ...config.http,
      metrics: portalMetrics,
      log: context.log,
    });
    const server = scope.use(
      await startHttpServer(app, {
        ...config.http,
        readinessLeadMs: READINESS_LEAD_MS,
        describeClientError,
      }),
    );
    context.log.info({ httpPort: server.port }, 'listening');
  },
);
