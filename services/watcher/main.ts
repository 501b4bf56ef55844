import { loadCommonConfig } from '#shared/config.ts';
import { connectSystem } from '#shared/connect-system.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { chainTransferred } from '#shared/contracts/watches/chain-transferred.ts';
import { MEMBER_PARTITIONS, watchEvaluated } from '#shared/contracts/watches/watch.ts';
import { runService } from '#shared/lifecycle.ts';
import { subscribe } from '#shared/redis/subscribe.ts';
import { startRepeating } from '#shared/repeat.ts';
import { startTogether } from '#shared/start-together.ts';
import { RULE_SET_CHANGED } from '#shared/stores/rules/rule-sets.ts';
import { makeThrottledWarning } from '#shared/telemetry/log-throttle.ts';
import type { Dependencies } from './dependencies.ts';
import { makeCheckDue } from './members/check-due.ts';
import { makeHandleEvaluated } from './members/handle-evaluated.ts';
import { makePublishChanges } from './members/publish-changes.ts';
import { makeRequestChecks } from './members/request-checks.ts';
import { openStores } from './stores.ts';
import { makeAnnounceHeld } from './sweeps/announce-held.ts';
import { makeChangeWatch } from './sweeps/change-watch.ts';
import { makeProcessWatches } from './sweeps/process-watches.ts';
import { makeRunSweeps } from './sweeps/run-sweeps.ts';
import { makeSweepSoon } from './sweeps/sweep-followers.ts';
import { makeHandleTransfer } from './transfers/handle-transfer.ts';

/** Partitions whose records are handled at once; those of one partition are handled one after
 * another. */
const WINDOW = MEMBER_PARTITIONS;
const TRANSFERS_WINDOW = 256;
/** Parts of one sweep that may wait for their results: this bound paces a sweep. */
const PARTS_MAX = 16;
const DUE_INTERVAL_MS = 500;
const SWEEP_INTERVAL_MS = 500;
const WATCHES_INTERVAL_MS = 2_000;
const OUTBOX_INTERVAL_MS = 15_000;
/** While Redis is away, two of the loops fail twice a second. */
const FAILURE_LOG_INTERVAL_MS = 10_000;

// Composition root: the only file that knows every part of the watcher.
await runService(
  'watcher',
  () => loadCommonConfig(process.env),
  async (scope, context, config) => {
    const { store, redis, clock, kafka } = await connectSystem('watcher', scope, context, config);
    const { now } = clock;
    let owned: ReadonlySet<number> = new Set();
    const stores = openStores({
      ...{ redis, kafka, context, now, partsMax: PARTS_MAX },
      isOwned: (partition) => owned.has(partition),
    });
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
        deps.watches.setUsersDue(clientId, ruleSet, now()).catch(processAllNext);
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
