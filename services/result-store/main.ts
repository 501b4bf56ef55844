import { loadCommonConfig } from '#shared/config.ts';
import { connectSystem } from '#shared/connect-system.ts';
import { audit } from '#shared/contracts/apps/audit.ts';
import { account, clientApp } from '#shared/contracts/apps/client-app.ts';
import { batchCompleted } from '#shared/contracts/batches/batch.ts';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { ruleSet } from '#shared/contracts/rules/rule-set.ts';
import type { Topic } from '#shared/contracts/topic.ts';
import { watch, watchMember } from '#shared/contracts/watches/watch.ts';
import { bringsBody, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { describeError } from '#shared/errors.ts';
import { runService } from '#shared/lifecycle.ts';
import { startRepeating } from '#shared/repeat.ts';
import { startTogether } from '#shared/start-together.ts';
import { makeObserveSaved } from '#shared/stores/checks/observe-saved.ts';
import { makeResults } from '#shared/stores/checks/results.ts';
import { startKeepingViews } from '#shared/stores/replay/keep-views.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { makeSavePositions } from '#shared/stores/replay/positions.ts';
import type { Dependencies } from './dependencies.ts';
import { makeMetrics } from './metrics.ts';
import { makeEraseDeleted } from './project/erase-deleted.ts';
import { makePartHandler } from './project/handle-part.ts';
import { makeResultHandler } from './project/handle-result.ts';
import { follow, followInto, followMembers, together } from './project/project-document.ts';
import { rollSegments } from './project/roll-segments.ts';
import { makeAlertQuota } from './usage/alert-quota.ts';
import { startPublishingUsage } from './usage/publish-usage.ts';

/** Results being saved at once. */
const WINDOW = 512;

/** Documents change rarely: a small window for all of them. */
const DOCUMENTS_WINDOW = 64;

/** Parts of batches that are stored at once, of up to 4 MiB each. */
const PARTS_MAX = 8;

/** Deleted documents are erased this often, and abandoned batches are looked for. */
const ERASE_INTERVAL_MS = 60_000;
const ABANDON_COUNT_MAX = 1_000;
/** Well within the shortest time that a superseded record may be kept. */
const ROLL_INTERVAL_MS = 1_200_000;

// Composition root: the only file that knows every part of the result-store.
await runService(
  'result-store',
  () => loadCommonConfig(process.env),
  async (scope, context, config) => {
    const { redis, clock, kafka } = await connectSystem('result-store', scope, context, config);
    const metrics = makeMetrics(context.metrics);
    const opened = openViews(redis);
    const dependencies: Dependencies = {
      ...opened,
      results: makeResults(redis, makeObserveSaved(context.metrics, clock.now)),
      kafka,
      metrics,
      now: clock.now,
      log: context.log,
    };
    const { batches, accounts, clientApps, ruleSets, watches, watchMembers, auditTrail } = opened;

    const replay = { kafka, redis, now: clock.now, log: context.log };
    const keeper = scope.use(await startKeepingViews(replay, context.stopping));
    context.readiness.add('views', () => keeper.areComplete() || 'the views are being rebuilt');
    metrics.watchViews(() => (keeper.areComplete() ? 1 : 0));

    const publishTo =
      <D>(topic: Topic<D>) =>
      (document: D) =>
        kafka.publish(topic, document);
    const handleResult = makeResultHandler(dependencies);
    // How far each topic is in the views: where a Redis that lost writes is read up from.
    const beforeCommit = makeSavePositions(redis);
    scope.use(
      await startTogether([
        kafka.consume({
          beforeCommit,
          groupId: CONSUMER_GROUPS.results,
          window: WINDOW,
          ...together([
            follow(checkCompleted, handleResult),
            // A resend brings no body.
            follow(webhookRequested, async (message) => {
              if (bringsBody(message)) await handleResult(message);
            }),
          ]),
        }),
        kafka.consume({
          beforeCommit,
          groupId: CONSUMER_GROUPS.batchResults,
          topics: [batchCompleted],
          window: PARTS_MAX,
          handle: makePartHandler(dependencies),
        }),
        kafka.consume({
          beforeCommit,
          groupId: CONSUMER_GROUPS.documents,
          window: DOCUMENTS_WINDOW,
          ...together([
            followInto(account, accounts, publishTo(account)),
            followInto(clientApp, clientApps, publishTo(clientApp)),
            followInto(ruleSet, ruleSets.documents, publishTo(ruleSet)),
            followInto(watch, watches.documents, publishTo(watch)),
            followMembers(watchMembers, publishTo(watchMember)),
            follow(audit, (entry) => auditTrail.record(entry)),
          ]),
        }),
      ]),
    );
    const eraseDeleted = makeEraseDeleted(dependencies);
    const eraseOld = async () => {
      // A replay would bring erased documents back.
      if (!keeper.areComplete()) return;
      const abandoned = await batches.abandon(ABANDON_COUNT_MAX);
      if (abandoned > 0) context.log.warn({ batches: abandoned }, 'incompletely published batches abandoned');
      await eraseDeleted();
    };
    scope.use(
      startRepeating(eraseOld, {
        intervalMs: ERASE_INTERVAL_MS,
        onError: (error) => context.log.warn({ error: describeError(error) }, 'deleted documents not erased'),
      }),
    );
    const compacted = [account, clientApp, ruleSet, watch, watchMember];
    scope.use(startRepeating(() => rollSegments(kafka, compacted), { intervalMs: ROLL_INTERVAL_MS }));
    scope.use(startPublishingUsage(dependencies, makeAlertQuota(dependencies)));
  },
);
