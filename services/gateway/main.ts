import { randomUUID } from 'node:crypto';
import { connectSystem } from '#shared/connect-system.ts';
import { webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { makeAccountBytes } from '#shared/fairness/account-bytes.ts';
import { makeLeasedSlots } from '#shared/fairness/leased-slots.ts';
import { makeThrottle } from '#shared/fairness/throttle.ts';
import { startHttpServer } from '#shared/http/http-server.ts';
import { runService } from '#shared/lifecycle.ts';
import { readChainFile } from '#shared/read-chain-file.ts';
import { subscribe } from '#shared/redis/subscribe.ts';
import { ACCOUNT_CHANGED } from '#shared/stores/apps/accounts.ts';
import { CLIENT_APP_CHANGED, makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { makeKeyUse } from '#shared/stores/apps/key-use.ts';
import { makeAuditTrail, makeRecordAudit } from '#shared/stores/audit/audit-trail.ts';
import { makeBatches } from '#shared/stores/batches/batches.ts';
import { makeAdmitter } from '#shared/stores/checks/admit.ts';
import { makeChainStates } from '#shared/stores/checks/chain-states.ts';
import { makeResults, replyChannelOf } from '#shared/stores/checks/results.ts';
import { makeRuleSets, RULE_SET_CHANGED } from '#shared/stores/rules/rule-sets.ts';
import { makeRuleSetWrites } from '#shared/stores/rules/write-rule-sets.ts';
import { makeFollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { makeChangeMembers } from '#shared/stores/watches/members/write-watch-members.ts';
import { makeWatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { makeWatches } from '#shared/stores/watches/watches.ts';
import { makeWatchWrites } from '#shared/stores/watches/write-watches.ts';
import { makeDeliveries } from '#shared/stores/webhooks/deliveries.ts';
import { makeBulkResends, makeResendWebhooks } from '#shared/stores/webhooks/resend-webhooks.ts';
import { makeWebhookBodies } from '#shared/stores/webhooks/webhook-bodies.ts';
import { BODY_READS_MAX, makeApp } from './app.ts';
import { makeAuthenticator } from './auth/authenticate.ts';
import { makeFailedKeyBudget } from './auth/failed-keys.ts';
import { makeNoteKeyUse } from './auth/note-key-use.ts';
import { makeBatchBodies } from './batches/batch-bodies.ts';
import { makePublishBatch } from './batches/publish-batch.ts';
import { readCompleted } from './batches/read-batch.ts';
import { makeStreamResults } from './batches/stream-results.ts';
import { makeAdmitCheck } from './checks/admit-check.ts';
import { makeWaiters } from './checks/await-result.ts';
import { fairnessOf, makePublishCheck } from './checks/publish-check.ts';
import { makeRequestIds } from './checks/request-ids.ts';
import { loadConfig, loadSecrets, warningsOf } from './config.ts';
import { COMMON_HEADERS } from './edge/exchange.ts';
import { makeApplyLimits } from './limits/apply-limits.ts';
import { startLagSampler } from './limits/sample-lag.ts';
import { makeGatewayMetrics } from './metrics.ts';
import { makeDocumentRoutes } from './routes.ts';
import { makeResolveRuleSet, makeRuleSetCache } from './rule-sets/cache-rule-sets.ts';
import { makeNonces } from './sign-in/nonces.ts';
import { makeRefuseSignIn } from './sign-in/refuse-sign-in.ts';

/** How long readiness fails before the listener closes. */
const READINESS_LEAD_MS = 2_000;
/** The share of the requests in flight that may be long polls; more are answered at once, to leave
 * room for checks. */
const LONG_POLL_SHARE = 0.5;
/** Of a rule set: the answer is due within 5 s, as for a check. */
const WRITE_TIMEOUTS_MS = { publish: 4_000, wait: 4_500 } as const;
const BODY_TIMEOUT_MS = 10_000;

// Composition root: the only file that knows every part of the gateway.
await runService(
  'gateway',
  () => loadConfig(process.env),
  async (scope, context, config) => {
    const { idKeys } = loadSecrets(process.env);
    const { chains } = readChainFile(config.chainsFile, process.env, { keepsEndpoints: true });
    const chainIds = new Set(chains.map(({ chainId }) => chainId));
    for (const warning of warningsOf(config)) context.log.warn({ warning }, 'unusual configuration');

    const { store, clock, bytes, kafka } = await connectSystem('gateway', scope, context, config);
    const metrics = makeGatewayMetrics(context.metrics);
    const results = makeResults(store.redis);
    const admitter = makeAdmitter(store.redis, clock.now);
    const replyChannel = replyChannelOf(randomUUID());
    const waiters = scope.use(
      makeWaiters({
        readMany: results.readMany,
        requestNotice: (requestId, forMs) => results.requestNotice(replyChannel, requestId, forMs),
        waitersMax: config.http.inFlightMax * LONG_POLL_SHARE,
      }),
    );
    const batches = makeBatches(store.redis);
    const readCompletedBatches = readCompleted(batches);
    const batchWaiters = scope.use(
      makeWaiters({
        readMany: readCompletedBatches,
        async requestNotice(requestId, forMs) {
          await results.requestNotice(replyChannel, requestId, forMs);
          return (await readCompletedBatches([requestId]))[0];
        },
        waitersMax: config.http.inFlightMax * LONG_POLL_SHARE,
      }),
    );
    const clientApps = makeClientApps(store.redis);
    const authenticator = makeAuthenticator({
      noteUse: makeNoteKeyUse({ note: makeKeyUse(store.redis).note, now: clock.now }),
      findKey: clientApps.findKey,
      now: clock.now,
      observeLookup: (result) => metrics.keyLookups.inc({ result }),
      mayFail: makeFailedKeyBudget(() => performance.now()),
    });

    const subscriber = await store.subscriber();
    for (const { notice, reread } of [waiters, batchWaiters])
      await subscribe(subscriber, replyChannel, { onMessage: notice, onGap: reread });
    await subscribe(subscriber, CLIENT_APP_CHANGED, {
      onMessage: authenticator.forget,
      onGap: authenticator.forgetAll,
    });
    await subscribe(subscriber, ACCOUNT_CHANGED, {
      onMessage: authenticator.forgetAccount,
      onGap: authenticator.forgetAll,
    });
    const ruleSets = makeRuleSets(store.redis);
    const ruleSetCache = makeRuleSetCache(ruleSets);
    await subscribe(subscriber, RULE_SET_CHANGED, {
      onMessage: ruleSetCache.forget,
      onGap: ruleSetCache.forgetAll,
    });
    metrics.watchWaiters(() => waiters.count() + batchWaiters.count());
    metrics.watchBatches(() => batches.countUnfinished(clock.now()));
    context.stopping.addEventListener('abort', () => {
      waiters.endLongPolls();
      batchWaiters.endLongPolls();
    });

    const lag = scope.use(startLagSampler({ kafka, metrics, now: clock.now, log: context.log }));
    const ids = makeRequestIds(idKeys);
    const nonces = makeNonces(idKeys);
    const applyLimits = makeApplyLimits({ admit: admitter.admit, metrics });
    const { retentionMs, syncDeadlineMs } = config;
    const watches = makeWatches(store.redis);
    const watchMembers = makeWatchMembers(store.redis);
    const documents = {
      slots: makeLeasedSlots(store.redis),
      throttle: makeThrottle(store.redis),
      requireRoom: makeAccountBytes(store.redis).requireRoom,
      auditTrail: makeAuditTrail(store.redis),
      publish: kafka.publish,
      timeoutsMs: WRITE_TIMEOUTS_MS,
      now: clock.now,
    };
    const deliveries = makeDeliveries(store.redis);
    const webhookBodies = makeWebhookBodies(store.redis);
    const resends = makeResendWebhooks({
      clientApps,
      deliveries,
      webhookBodies,
      publish: (message) =>
        kafka.publish(webhookRequested, message, { timeoutMs: WRITE_TIMEOUTS_MS.publish }),
      countBytes: bytes.add,
      now: clock.now,
    });
    const { publicBaseUrl } = config.http;
    const app = makeApp({
      authenticate: authenticator.authenticate,
      applyLimits,
      admitCheck: makeAdmitCheck({
        applyLimits,
        readResult: results.read,
        ids,
        retentionMs,
        syncDeadlineMs,
      }),
      publishCheck: makePublishCheck({
        publish: kafka.publish,
        admitter,
        retentionMs,
        metrics,
        log: context.log,
      }),
      publishBatch: makePublishBatch({
        publish: kafka.publish,
        admitter,
        slots: makeLeasedSlots(store.redis),
        batches,
        retentionMs,
        metrics,
        log: context.log,
      }),
      refund: admitter.release,
      batchBodies: makeBatchBodies(context.stopping),
      batches,
      batchWaiters,
      streamResults: makeStreamResults(batches),
      findResult: results.find,
      readResult: results.read,
      waiters,
      ids,
      nonces,
      ruleSets,
      ruleSetCache,
      ruleSetWrites: makeRuleSetWrites({ ...documents, ruleSets }),
      watches,
      watchMembers,
      watchWrites: makeWatchWrites({
        ...documents,
        watches,
        members: watchMembers,
        sweeps: makeWatchSweeps(store.redis),
        followed: makeFollowedContracts(store.redis),
        ruleSets,
        ruleSetCache,
      }),
      changeMembers: makeChangeMembers({ ...documents, watches, members: watchMembers }),
      deliveries,
      readBodyHead: webhookBodies.readHead,
      resends,
      bulkResends: makeBulkResends({ ...documents, resends }),
      requireRoom: documents.requireRoom,
      recordAudit: makeRecordAudit(documents),
      rules: {
        chainIds,
        callback: config.callback,
        signsVerdicts: config.proofKeys !== undefined,
        resolveRuleSet: makeResolveRuleSet(ruleSetCache),
        refuseSignIn: makeRefuseSignIn({ nonces, now: clock.now }),
      },
      chains,
      readChainStates: makeChainStates(store.redis).read,
      retentionMs,
      syncDeadlineMs,
      replyChannel,
      publicBaseUrl,
      documentRoutes: makeDocumentRoutes({ publicBaseUrl, chains, demo: config.demo }),
      proofKeys: config.proofKeys,
      inFlightMax: config.http.inFlightMax,
      bodyReadsMax: BODY_READS_MAX,
      bodyTimeoutMs: BODY_TIMEOUT_MS,
      trustedProxies: config.http.trustedProxies,
      logsAccess: config.http.logsAccess,
      isStopping: () => context.stopping.aborted,
      // Of the batch lane the last resort: it is counted in parts here, and shared by account and
      // app at admission.
      isOverloaded: (lane, app) => lag.laneLag(lane, fairnessOf(app)) > config.laneLagMax,
      metrics,
      log: context.log,
    });
    const server = scope.use(
      await startHttpServer(app, {
        ...config.http,
        readinessLeadMs: READINESS_LEAD_MS,
        headers: COMMON_HEADERS,
      }),
    );
    metrics.watchConnections(server.countConnections);
    context.log.info({ httpPort: server.port }, 'listening');
  },
);
