import { setTimeout as delay } from 'node:timers/promises';
import { connectSystem } from '#shared/connect-system.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { chainTransferred } from '#shared/contracts/watches/chain-transferred.ts';
import { MEMBER_PARTITIONS, watchEvaluated } from '#shared/contracts/watches/watch.ts';
import { makeThrottle } from '#shared/fairness/throttle.ts';
import { runService } from '#shared/lifecycle.ts';
import { subscribe } from '#shared/redis/subscribe.ts';
import { startRepeating } from '#shared/repeat.ts';
import { startTogether } from '#shared/start-together.ts';
import { makeAccounts } from '#shared/stores/apps/accounts.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { makeWriteDocument } from '#shared/stores/documents/write-document.ts';
import { makeRuleSets, RULE_SET_CHANGED } from '#shared/stores/rules/rule-sets.ts';
import { makeFollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import { makeLogPositions } from '#shared/stores/watches/log-positions.ts';
import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { makeWatchChains } from '#shared/stores/watches/watch-chains.ts';
import { makeWatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { makeWatches } from '#shared/stores/watches/watches.ts';
import { makeThrottledWarning } from '#shared/telemetry/log-throttle.ts';
import { loadConfig } from './config.ts';
import type { Dependencies, Stores } from './dependencies.ts';
import { makeCheckDue } from './members/check-due.ts';
import { makeHandleEvaluated } from './members/handle-evaluated.ts';
import { makeOpenParts } from './members/open-parts.ts';
import { makePublishChanges } from './members/publish-changes.ts';
import { makeRequestChecks } from './members/request-checks.ts';
import { makeUnreadChains } from './members/unread-chains.ts';
import { makeWatchQuota } from './members/watch-quota.ts';
import { makeMetrics } from './metrics.ts';
import { makeAnnounceHeld } from './sweeps/announce-held.ts';
import { makeChangeWatch } from './sweeps/change-watch.ts';
import { makeProcessWatches } from './sweeps/process-watches.ts';
import { rememberRuleSets } from './sweeps/remember-rule-sets.ts';
import { makeRunSweeps } from './sweeps/run-sweeps.ts';
import { makeSweepSoon } from './sweeps/sweep-followers.ts';
import { makeHandleTransfer } from './transfers/handle-transfer.ts';

/** Partitions whose records are handled at once; those of one partition are handled one after
 * another. */
const WINDOW = MEMBER_PARTITIONS;
const TRANSFERS_WINDOW = 256;
const DUE_INTERVAL_MS = 500;
const SWEEP_INTERVAL_MS = 500;
/** A sweep that waits for room is looked at at intervals that double. */
const PACE_MS = { min: 100, max: 1_000 } as const;
const WATCHES_INTERVAL_MS = 2_000;
const OUTBOX_INTERVAL_MS = 15_000;
/** While Redis is away, two of the loops fail twice a second. */
const FAILURE_LOG_INTERVAL_MS = 10_000;

// Composition root: the only file that knows every part of the watcher.
await runService(
  'watcher',
  () => loadConfig(process.env),
  async (scope, context, config) => {
    const { store, redis, clock, kafka } = await connectSystem('watcher', scope, context, config);
    const { now } = clock;
    let owned: ReadonlySet<number> = new Set();
    const watches = makeWatches(redis);
    const stores: Stores = {
      watches,
      members: makeWatchMembers(redis),
      sweeps: makeWatchSweeps(redis),
      ruleSets: rememberRuleSets(makeRuleSets(redis)),
      clientApps: makeClientApps(redis),
      accounts: makeAccounts(redis),
      followed: makeFollowedContracts(redis),
      positions: makeLogPositions(redis),
      chains: makeWatchChains(redis),
      unread: makeUnreadChains(now),
      openParts: makeOpenParts(redis),
      quota: makeWatchQuota(redis),
      throttle: makeThrottle(redis),
      publish: kafka.publish,
      writeDocument: makeWriteDocument(kafka),
      metrics: makeMetrics(context.metrics),
      log: context.log,
      now,
      partitions: Array.from({ length: MEMBER_PARTITIONS }, (_, index) => index),
      isOwned: (partition: number) => owned.has(partition),
      partsMax: config.partsMax,
      pace: (looks) => delay(Math.min(PACE_MS.min * 2 ** looks, PACE_MS.max)),
    };
    const parts = { ...stores, ...makePublishChanges(stores), ...makeChangeWatch(stores) };
    const deps: Dependencies = {
      ...parts,
      ...makeAnnounceHeld(parts),
      requestChecks: makeRequestChecks(parts),
      sweepSoon: makeSweepSoon(parts),
    };
    const { processWatches, processAllNext } = makeProcessWatches(deps);
    await subscribe(await store.subscriber(), RULE_SET_CHANGED, {
      onMessage(id) {
        const [clientId = '', ruleSet = ''] = id.split('/');
        watches.setUsersDue(clientId, ruleSet, now()).catch(processAllNext);
      },
      onGap: processAllNext,
    });
    scope.use(
      await startTogether([
        kafka.consume({
          groupId: CONSUMER_GROUPS.members,
          topics: [watchEvaluated],
          window: WINDOW,
          handle: makeHandleEvaluated(deps),
          onAssignment: (assigned) => {
            owned = new Set(assigned);
          },
        }),
        kafka.consume({
          window: TRANSFERS_WINDOW,
          groupId: CONSUMER_GROUPS.transfers,
          topics: [chainTransferred],
          handle: makeHandleTransfer(deps),
        }),
      ]),
    );

    const repeat = (failure: string, work: () => Promise<unknown>, intervalMs: number) =>
      scope.use(
        startRepeating(async () => void (await work()), {
          intervalMs,
          onError: makeThrottledWarning(context.log, failure, FAILURE_LOG_INTERVAL_MS),
        }),
      );
    /** A round begins although the one before still works: what has just become due takes its turn. */
    const repeatAtOnce = (failure: string, work: () => Promise<unknown>, intervalMs: number) => {
      const warn = makeThrottledWarning(context.log, failure, FAILURE_LOG_INTERVAL_MS);
      scope.use(startRepeating(() => void work().catch(warn), { intervalMs }));
    };
    const forOwned = async (work: (partition: number) => Promise<void>) => {
      for (const partition of deps.partitions.filter(deps.isOwned)) await work(partition);
    };
    repeatAtOnce('due members not checked', makeCheckDue(deps), DUE_INTERVAL_MS);
    repeat('sweeps not continued', makeRunSweeps(deps), SWEEP_INTERVAL_MS);
    repeatAtOnce('watches not processed', processWatches, WATCHES_INTERVAL_MS);
    repeat('outbox not published', () => forOwned(deps.publishOutbox), OUTBOX_INTERVAL_MS);
  },
);
