import { once } from 'node:events';
import type { CommonConfig } from './config.ts';
import { describeError, ServiceError } from './errors.ts';
import { HealthChecks, startOpsServer } from './http/ops-server.ts';
import type { ServiceContext } from './service-context.ts';
import { makeLogger } from './telemetry/log.ts';
import { makeRegistry, watchReadiness } from './telemetry/metrics.ts';
import { startTracing } from './telemetry/tracing.ts';

/** How long open connections may hold a process that has stopped. */
const LINGER_MS = 500;

type Start<C> = (scope: AsyncDisposableStack, context: ServiceContext, config: C) => Promise<void>;

/**
 * Runs a service: configuration → ops server → `start` → signal → disposal, newest first → exit 0.
 *
 * Ready once `start` has returned and every readiness check is well; not ready again from the
 * signal on. A stop that takes longer than `shutdownTimeoutMs`, or a second signal, ends the
 * process with exit 1.
 *
 * @example
 * await runService('evaluator', () => loadConfig(process.env), async (scope, context, config) => {
 *   const redis = scope.use(await connectRedis(config.redis, context));
 * });
 */
export async function runService<C extends CommonConfig>(
  name: string,
  load: () => C,
  start: Start<C>,
): Promise<void> {
  const config = loadOrExit(name, load);
  const log = makeLogger(name, config.logLevel);
  const fail = (error: unknown) => {
    log.fatal({ error: describeError(error), stack: stackOf(error) }, 'process failed');
    process.exit(1);
  };
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  // Node's own warnings are lines of the log too. What is experimental is used on purpose.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') log.warn({ warning: name, reason: message }, 'warning of Node');
  });
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1);
      log.info({ signal }, 'stopping');
      setTimeout(() => fail(new Error('shutdown timed out')), config.shutdownTimeoutMs).unref();
      stop.abort(signal);
    });
  }
  try {
    await runScope(name, config, start, { log, stopping: stop.signal, fail });
  } catch (error) {
    if (!stop.signal.aborted) fail(error);
    // A start that the signal cut short has failed on purpose, and may have left a connection
    // half-made.
    log.info('stopped before it was ready');
    process.exit(0);
  }
  log.info('stopped');
  process.exitCode = 0;
  // A connection to something that is away may not close by itself.
  setTimeout(() => process.exit(0), LINGER_MS).unref();
}

async function runScope<C extends CommonConfig>(
  name: string,
  config: C,
  start: Start<C>,
  process: Pick<ServiceContext, 'log' | 'stopping' | 'fail'>,
): Promise<void> {
  const metrics = makeRegistry(name);
  const readiness = new HealthChecks();
  const liveness = new HealthChecks();
  watchReadiness(metrics, readiness);
  const state = { started: false };
  readiness.add('process', () => {
    if (process.stopping.aborted) return 'stopping';
    return state.started || 'starting';
  });
  await using scope = new AsyncDisposableStack();
  // First, because only an open listener keeps the event loop alive while all else is still
  // connecting.
  const ops = scope.use(await startOpsServer({ ...config.ops, readiness, liveness, metrics }));
  if (config.otlpEndpoint) scope.use(await startTracing(name, process.log));
  await start(scope, { ...process, metrics, readiness, liveness }, config);
  state.started = true;
  process.log.info({ opsPort: ops.port }, 'ready');
  if (!process.stopping.aborted) await once(process.stopping, 'abort');
}

/** A wrong configuration is reported without a stack: its reader is the operator who corrects
 * it. */
function loadOrExit<C>(name: string, load: () => C): C {
  try {
    return load();
  } catch (error) {
    const message = error instanceof ServiceError ? error.message : describeError(error).message;
    process.stderr.write(`${name} cannot start: ${message}\n`);
    process.exit(1);
  }
}

const stackOf = (error: unknown): string | undefined => (error instanceof Error ? error.stack : undefined);
