import {
  type BatchPartCompleted,
  batchCompleted,
  checkRequestedBatch,
} from '#shared/contracts/batches/batch.ts';
import type { ChainFile } from '#shared/contracts/chain-file.ts';
import { LANES, type Lane } from '#shared/contracts/checks/check-requested.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { watchEvaluated } from '#shared/contracts/watches/watch.ts';
import { startCountingBytes } from '#shared/fairness/account-bytes.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { runService } from '#shared/lifecycle.ts';
import { readChainFile } from '#shared/read-chain-file.ts';
import { startClock } from '#shared/redis/clock.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { startTogether } from '#shared/start-together.ts';
import { makeChainReports } from '#shared/stores/checks/chain-reports.ts';
import { makeChainStates } from '#shared/stores/checks/chain-states.ts';
import { makeObserveSaved } from '#shared/stores/checks/observe-saved.ts';
import { makeResults } from '#shared/stores/checks/results.ts';
import { joinSystem } from '#shared/stores/replay/join-system.ts';
import { watchClock } from '#shared/telemetry/metrics.ts';
import { connectChains } from './chain/connect-chains.ts';
import { loadConfig, loadSecrets, warningsOf } from './config.ts';
import { startCheckingEndpoints } from './doctor/start-checking.ts';
import { agreeOn, isAnswer } from './domain/agree.ts';
import { startFollowingTransfers } from './lanes/follow-transfers.ts';
import { makeGiveUp, makeGiveUpPart } from './lanes/give-up.ts';
import { makePartHandler } from './lanes/handle-part.ts';
import { makeRequestHandler } from './lanes/handle-request.ts';
import { makeHealthLog } from './lanes/log-endpoint-health.ts';
import { startPoolSize } from './lanes/pool-size.ts';
import { makePublishResult } from './lanes/publish-result.ts';
import { READS_IN_PROGRESS, ReadBudget } from './lanes/read-budget.ts';
import { startReportingChains } from './lanes/report-chain-states.ts';
import { makeRunningChecks } from './lanes/running-checks.ts';
import { makeProve } from './lanes/sign-proof.ts';
import { makeSlicing } from './lanes/slice-work.ts';
import { makeTickLimiter } from './lanes/tick-limiter.ts';
import { makeMetrics } from './metrics.ts';

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
    const { redis } = scope.use(await connectRedis({ ...config, ...config.redis }, context));
    const clock = scope.use(await startClock(redis));
    const bytes = scope.use(startCountingBytes(redis, context.log));
    const kafka = scope.use(await connectKafka(config, 'evaluator', context, { countBytes: bytes.add }));
    scope.use(await joinSystem({ kafka, redis, config, context }));
    const metrics = makeMetrics(context.metrics, makeHealthLog(context.log));
    watchClock(context.metrics, clock);
    const pool = scope.use(startPoolSize(kafka.admin, CONSUMER_GROUPS.lanes.bulk));
    metrics.expectChains(chainFile.chains.map(({ chainId }) => chainId));
    const chains = scope.use(
      connectChains(chainFile, {
        attemptTimeoutMs: config.attemptTimeoutMs,
        waitingMax: config.waitingMax,
        poolSize: pool.size,
        agreeOn,
        isAnswer,
        observer: metrics.chains,
        redisNowMs: clock.now,
      }),
    );
    scope.use(startReportingChains(chains, makeChainStates(redis), context.log));
    const reports = makeChainReports(redis, clock.now);
    scope.use(startCheckingEndpoints({ ...context, chains, reports }));
    const prove = makeProve({
      publicBaseUrl: config.publicBaseUrl,
      keys: loadSecrets(process.env).proofKeys,
      noteMissingKey: (jti) =>
        context.log.error({ jti }, 'a proof was requested and ROLECALL_PROOF_KEYS is not set'),
    });
    const dependencies = {
      ...chains,
      prove,
      publishResult: makePublishResult({
        results: makeResults(redis, makeObserveSaved(context.metrics, clock.now)),
        publish: kafka.publish,
      }),
      recordMetrics: metrics.recordCheck,
      redisNowMs: clock.now,
      evaluationMsMax: config.evaluationMsMax,
      waitForTick: makeTickLimiter().waitForTick,
    };
    const others = new ReadBudget(READS_IN_PROGRESS.others);
    const readBudgets = { interactive: new ReadBudget(READS_IN_PROGRESS.sync), bulk: others };
    const running = makeRunningChecks();
    // Each lane has its own consumer group and window, so that a bulk backlog cannot fill the
    // interactive window.
    const consume = (lane: Lane) =>
      kafka.consume({
        groupId: CONSUMER_GROUPS.lanes[lane],
        topics: [LANES[lane]],
        window: config.window,
        ownerOf: (check) => check,
        handle: running.counted(makeRequestHandler({ ...dependencies, readBudget: readBudgets[lane] }, lane)),
        onAssignment: () => void pool.refresh(),
        giveUp: makeGiveUp({ ...dependencies, ...metrics }),
      });
    const publishPart = (completed: BatchPartCompleted, traceparent: string) =>
      completed.delivery.mode === 'watch'
        ? kafka.publish(watchEvaluated, completed, { traceparent, isValidated: true })
        : kafka.publish(batchCompleted, completed, { traceparent, isValidated: true });
    const consumeParts = () =>
      kafka.consume({
        groupId: CONSUMER_GROUPS.batchLane,
        topics: [checkRequestedBatch],
        window: config.partsMax,
        ownerOf: (part) => part,
        handle: makePartHandler({
          ...dependencies,
          ...metrics,
          readBudget: others,
          publish: publishPart,
          forEachInSlices: makeSlicing(
            () => performance.now(),
            () => running.count() > 0,
          ),
        }),
        giveUp: makeGiveUpPart({ ...dependencies, ...metrics, publish: publishPart }),
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
