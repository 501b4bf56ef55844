import { setTimeout as delay } from 'node:timers/promises';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { chainTransferred } from '#shared/contracts/watches/chain-transferred.ts';
import { MEMBER_PARTITIONS, watchEvaluated } from '#shared/contracts/watches/watch.ts';
import { startCountingBytes } from '#shared/fairness/account-bytes.ts';
import { makeLeasedSlots } from '#shared/fairness/leased-slots.ts';
import { makeThrottle } from '#shared/fairness/throttle.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { runService } from '#shared/lifecycle.ts';
import { startClock } from '#shared/redis/clock.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { subscribe } from '#shared/redis/subscribe.ts';
import { startRepeating } from '#shared/repeat.ts';
import { startTogether } from '#shared/start-together.ts';
import { makeAccounts } from '#shared/stores/apps/accounts.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { makeWriteDocument } from '#shared/stores/documents/write-document.ts';
import { joinSystem } from '#shared/stores/replay/join-system.ts';
import { makeRuleSets, RULE_SET_CHANGED } from '#shared/stores/rules/rule-sets.ts';
import { makeFollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import { makeLogPositions } from '#shared/stores/watches/log-positions.ts';
import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { makeWatchChains } from '#shared/stores/watches/watch-chains.ts';
import { makeWatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { makeWatches } from '#shared/stores/watches/watches.ts';
import { makeLogThrottle, makeThrottledWarning } from '#shared/telemetry/log-throttle.ts';
import { watchClock } from '#shared/telemetry/metrics.ts';
import { loadConfig } from './config.ts';
import { makeChargeChecks } from './members/charge-checks.ts';
import { makeCheckDue } from './members/check-due.ts';
import { makeHandleEvaluated } from './members/handle-evaluated.ts';
import { makeOpenParts } from './members/open-parts.ts';
import { makePublishChanges } from './members/publish-changes.ts';
import { makeRemoveMembers } from './members/remove-members.ts';
import { makeRequestChecks } from './members/request-checks.ts';
import { makeUnreadChains } from './members/unread-chains.ts';
import { makeChargeWatch, makeRefundWatch } from './members/watch-quota.ts';
import { makeMetrics } from './metrics.ts';
import { makeProcessWatch } from './sweeps/process-watch.ts';
import { makeProcessWatches } from './sweeps/process-watches.ts';
import { makeReadLimits } from './sweeps/read-limits.ts';
import { rememberRuleSets } from './sweeps/remember-rule-sets.ts';
import { makeRunSweeps } from './sweeps/run-sweeps.ts';
import { makeSweepFollowers, makeSweepSoon } from './sweeps/sweep-followers.ts';
import { makeHandleTransfer } from './transfers/handle-transfer.ts';

/** Partitions whose records are handled at once; those of one partition are handled one after
 * another. */
const WINDOW = MEMBER_PARTITIONS;
const TRANSFERS_WINDOW = 256;
const DUE_INTERVAL_MS = 500;
const SWEEP_INTERVAL_MS = 500;
/** How often a sweep is checked for its next step. */
const PACE_MS = 100;
const WATCHES_INTERVAL_MS = 2_000;
const OUTBOX_INTERVAL_MS = 15_000;
/** While Redis is away, two of the loops fail twice a second. */
const FAILURE_LOG_INTERVAL_MS = 10_000;

// Composition root: the only file that knows every part of the watcher.
await runService(
  'watcher',
  () => loadConfig(process.env),
  async (scope, context, config) => {
    const { redis, subscriber } = scope.use(await connectRedis({ ...config, ...config.redis }, context));
    const clock = scope.use(await startClock(redis));
    watchClock(context.metrics, clock);
    const { now } = clock;
    const bytes = scope.use(startCountingBytes(redis, context.log));
    const kafka = scope.use(await connectKafka(config, 'watcher', context, { countBytes: bytes.add }));
    scope.use(await joinSystem({ kafka, redis, config, context }));
    const metrics = makeMetrics(context.metrics);
    const { publish } = kafka;
    const [watches, members, sweeps] = [makeWatches(redis), makeWatchMembers(redis), makeWatchSweeps(redis)];
    const [ruleSets, clientApps] = [rememberRuleSets(makeRuleSets(redis)), makeClientApps(redis)];
    const openParts = makeOpenParts(makeLeasedSlots(redis));
    const partitions = Array.from({ length: MEMBER_PARTITIONS }, (_, index) => index);
    let owned: ReadonlySet<number> = new Set();
    const isOwned = (partition: number) => owned.has(partition);
    const common = {
      watches,
      members,
      sweeps,
      ruleSets,
      followed: makeFollowedContracts(redis),
      positions: makeLogPositions(redis),
      chains: makeWatchChains(redis),
      unread: makeUnreadChains(now),
      clientApps,
      openParts,
      publish,
      isOwned,
      now,
      metrics,
      log: context.log,
    };

    const sweepSoon = makeSweepSoon(sweeps, common.followed, now);
    const unpublishable = makeLogThrottle(FAILURE_LOG_INTERVAL_MS);
    const publishChanges = makePublishChanges({
      ...common,
      onUnpublishable: ({ clientId, watchId, memberId }) => {
        const others = unpublishable();
        if (others !== undefined)
          context.log.error({ clientId, watchId, memberId, others }, 'member is too large to be published');
      },
    });
    const { pause, noteSwept, announceHeld, processWatch } = makeProcessWatch({
      ...common,
      sweepSoon,
      removeMembers: makeRemoveMembers({ ...common, publishMember: publishChanges.publishMember }),
      writeDocument: makeWriteDocument({ publish }),
      publishEvent: publishChanges.publishEvent,
    });
    const { processWatches, processAllNext } = makeProcessWatches({
      ...common,
      partitions,
      processWatch,
      oldestDueAt: async () => {
        const times = await Promise.all(partitions.filter(isOwned).map(members.oldestDueAt));
        return times.reduce<number | undefined>(
          (least, at) => (at !== undefined && at < (least ?? Infinity) ? at : least),
          undefined,
        );
      },
    });
    await subscribe(await subscriber(), RULE_SET_CHANGED, {
      onMessage(id) {
        const [clientId = '', ruleSet = ''] = id.split('/');
        watches.setUsersDue(clientId, ruleSet, now()).catch(processAllNext);
      },
      onGap: processAllNext,
    });
    const readLimits = makeReadLimits({ clientApps, accounts: makeAccounts(redis) });
    const refund = makeRefundWatch(redis);
    const chargeChecks = makeChargeChecks({ chargeWatch: makeChargeWatch(redis), readLimits, pause });
    const requestChecks = makeRequestChecks({ ...common, chargeChecks, refund });

    scope.use(
      await startTogether([
        kafka.consume({
          groupId: CONSUMER_GROUPS.members,
          topics: [watchEvaluated],
          window: WINDOW,
          handle: makeHandleEvaluated({
            ...common,
            publishChanges,
            refund,
            chargeEvents: (watch, count) =>
              chargeChecks(watch, {
                count,
                month: new Date(now()).toISOString().slice(0, 7),
                areEvaluated: true,
              }),
          }),
          onAssignment: (assigned) => {
            owned = new Set(assigned);
          },
        }),
        kafka.consume({
          window: TRANSFERS_WINDOW,
          groupId: CONSUMER_GROUPS.transfers,
          topics: [chainTransferred],
          handle: makeHandleTransfer({
            ...common,
            requestChecks,
            throttle: makeThrottle(redis),
            sweepSoon,
            sweepFollowers: makeSweepFollowers({ ...common, sweepSoon, partitions }),
          }),
        }),
      ]),
    );

    const checkDue = makeCheckDue({ ...common, requestChecks, partitions });
    const runSweeps = makeRunSweeps({
      ...common,
      requestChecks,
      announceHeld,
      noteSwept,
      partsMax: config.partsMax,
      pace: () => delay(PACE_MS),
    });
    const repeat = (failure: string, work: () => Promise<unknown>, intervalMs: number) =>
      scope.use(
        startRepeating(async () => void (await work()), {
          intervalMs,
          onError: makeThrottledWarning(context.log, failure, FAILURE_LOG_INTERVAL_MS),
        }),
      );
    const forOwned = async (work: (partition: number) => Promise<void>) => {
      for (const partition of partitions.filter(isOwned)) await work(partition);
    };
    repeat('due members not checked', checkDue, DUE_INTERVAL_MS);
    repeat('sweeps not continued', runSweeps, SWEEP_INTERVAL_MS);
    repeat('watches not processed', processWatches, WATCHES_INTERVAL_MS);
    repeat('outbox not published', () => forOwned(publishChanges.publishOutbox), OUTBOX_INTERVAL_MS);
  },
);
