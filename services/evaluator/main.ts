import { connectSystem } from '#shared/connect-system.ts';
import { checkRequestedBatch } from '#shared/contracts/batches/batch.ts';
import type { ChainFile } from '#shared/contracts/chain-file.ts';
import { LANES, type Lane } from '#shared/contracts/checks/check-requested.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { describeError } from '#shared/errors.ts';
import { runService } from '#shared/lifecycle.ts';
import { readChainFile } from '#shared/read-chain-file.ts';
import { startRepeating } from '#shared/repeat.ts';
import { startTogether } from '#shared/start-together.ts';
import { makeChainReports } from '#shared/stores/checks/chain-reports.ts';
import { makeChainStates } from '#shared/stores/checks/chain-states.ts';
import { makeObserveSaved } from '#shared/stores/checks/observe-saved.ts';
import { makeResults } from '#shared/stores/checks/results.ts';
import { connectChains } from './chain/connect-chains.ts';
import { loadConfig, loadSecrets, warningsOf } from './config.ts';
import type { Dependencies } from './dependencies.ts';
import { startCheckingEndpoints } from './doctor/start-checking.ts';
import { makeEvaluate } from './lanes/evaluate.ts';
import { startFollowingTransfers } from './lanes/follow-transfers.ts';
import { makeGiveUp } from './lanes/give-up.ts';
import { makeHealthLog } from './lanes/log-endpoint-health.ts';
import { startPoolSize } from './lanes/pool-size.ts';
import { READS_IN_PROGRESS, ReadBudget } from './lanes/read-budget.ts';
import { makeEventLoopShares } from './lanes/share-event-loop.ts';
import { makeProve } from './lanes/sign-proof.ts';
import { makeMetrics } from './metrics.ts';

/** How often gateways are told which of the chains that were asked for lately can be read: several
 * reports fall into the time that one counts. */
const REPORT_INTERVAL_MS = 2_000;
/** Read before anything is opened; it has keys, so it is no part of the configuration. */
let chainFile: ChainFile;

// Composition root: the only file that knows every part of the evaluator.
await runService(
  'evaluator',
  () => {
    const config = loadConfig(process.env);
    chainFile = readChainFile(config.chainsFile, process.env);
    return config;
  },
  async (scope, context, config) => {
    for (const warning of warningsOf(config)) context.log.warn({ warning }, 'unusual configuration');
    const { redis, clock, kafka } = await connectSystem('evaluator', scope, context, config);
    const metrics = makeMetrics(
      context.metrics,
      chainFile.chains.map(({ chainId }) => chainId),
    );
    const pool = scope.use(startPoolSize(kafka.admin, CONSUMER_GROUPS.lanes.bulk));
    const chains = scope.use(
      connectChains(chainFile, {
        attemptTimeoutMs: config.attemptTimeoutMs,
        waitingMax: config.waitingMax,
        poolSize: pool.size,
        observerOf: (chainId) => ({
          ...metrics.observerOf(chainId),
          onHealth: makeHealthLog(context.log, chainId),
        }),
        redisNowMs: clock.now,
      }),
    );
    const states = makeChainStates(redis);
    scope.use(
      startRepeating(() => states.report(chains.readable()), {
        intervalMs: REPORT_INTERVAL_MS,
        onError: (error) =>
          context.log.debug({ error: describeError(error) }, 'the states of the chains were not reported'),
      }),
    );
    const reports = makeChainReports(redis, clock.now);
    scope.use(startCheckingEndpoints({ ...context, chains, reports }));
    const prove = makeProve({
      publicBaseUrl: config.publicBaseUrl,
      keys: loadSecrets(process.env).proofKeys,
      noteMissingKey: (jti) =>
        context.log.error({ jti }, 'a proof was requested and ROLECALL_PROOF_KEYS is not set'),
    });
    const eventLoop = makeEventLoopShares();
    const others = new ReadBudget(READS_IN_PROGRESS.others);
    const dependencies: Dependencies = {
      chains,
      prove,
      eventLoop,
      readBudgets: { interactive: new ReadBudget(READS_IN_PROGRESS.sync), bulk: others, batch: others },
      results: makeResults(redis, makeObserveSaved(context.metrics, clock.now)),
      publish: kafka.publish,
      metrics,
      redisNowMs: clock.now,
      evaluationMsMax: config.evaluationMsMax,
    };
    const giveUp = makeGiveUp(dependencies);
    // Each lane has its own consumer group and window, so that a bulk backlog cannot fill the
    // interactive window.
    const consume = (lane: Lane) =>
      kafka.consume({
        groupId: CONSUMER_GROUPS.lanes[lane],
        topics: [LANES[lane]],
        window: config.window,
        ownerOf: (check) => check,
        handle: eventLoop.counted(makeEvaluate(dependencies, lane)),
        onAssignment: () => void pool.refresh(),
        giveUp,
      });
    const consumeParts = () =>
      kafka.consume({
        groupId: CONSUMER_GROUPS.batchLane,
        topics: [checkRequestedBatch],
        window: config.partsMax,
        ownerOf: (part) => part,
        handle: makeEvaluate(dependencies, 'batch'),
        giveUp,
      });
    scope.use(
      startFollowingTransfers({
        chains: chains.followable,
        redis,
        publish: kafka.publish,
        metrics: metrics.following,
        log: context.log,
        redisNowMs: clock.now,
      }),
    );
    // Stopped together: each consumer may take the full time that a shutdown allows for checks in
    // progress.
    scope.use(await startTogether([consume('interactive'), consume('bulk'), consumeParts()]));
  },
);
