import { z } from 'zod';
import {
  commonConfig,
  commonEnvironment,
  type Environment,
  loadEnvironment,
  withoutEndSlash,
} from '#shared/config.ts';
import { ServiceError } from '#shared/errors.ts';
import { Readiness } from '#shared/http/ops-server.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { startClock } from '#shared/redis/clock.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { makeSecretBox, parseKeyRing } from '#shared/secret-box.ts';
import { makeKeyUse } from '#shared/stores/apps/key-use.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { makeLogger } from '#shared/telemetry/log.ts';
import { makeRegistry } from '#shared/telemetry/metrics.ts';
import { loadChains } from '../config.ts';
import { makeWork } from '../features/make-work.ts';
import { makeAwaitResend } from './await-resend.ts';

/** A command fails fast if the system is not running. */
const DEPENDENCY_WAIT_MS = 5_000;

export type OpenSystem = Awaited<ReturnType<typeof openSystem>>;

/**
 * Connects to a running system for one command.
 *
 * @throws ServiceError `config-invalid`, `broker-unavailable`
 */
export async function openSystem(env: Environment) {
  const common = commonConfig(loadEnvironment(z.object(commonEnvironment), { LOG_LEVEL: 'silent', ...env }));
  const config = { ...common, dependencyWaitMs: DEPENDENCY_WAIT_MS };
  const log = makeLogger('admin', config.logLevel);
  const context = {
    log,
    metrics: makeRegistry('admin'),
    readiness: new Readiness(),
    stopping: new AbortController().signal,
    fail: (error: unknown) => {
      throw error;
    },
  };
  await using opened = new AsyncDisposableStack();
  const { redis } = opened.use(await connectRedis({ ...config, ...config.redis }, context));
  const clock = opened.use(await startClock(redis));
  const kafka = opened.use(await connectKafka(config, 'admin', context, { mustHaveTopics: false }));
  const store = openViews(redis);
  const box = () => makeSecretBox(secretKeysOf(env));
  const scope = opened.move();
  return {
    redis,
    clock,
    kafka,
    log,
    ...store,
    ...makeWork({
      redis,
      store,
      publish: kafka.publish,
      // The keys are parsed on first use: most commands need none.
      box: {
        seal: (plain, associated) => box().seal(plain, associated),
        open: (sealed, associated) => box().open(sealed, associated),
        reseal: (sealed, associated) => box().reseal(sealed, associated),
      },
      // A command returns only once its resends are in effect; the portal answers once they are published.
      afterResend: makeAwaitResend(store.deliveries),
      now: clock.now,
    }),
    keyUse: makeKeyUse(redis),
    /** The portal's address in the browser; empty if it is not configured. */
    portalOrigin: withoutEndSlash(env['PORTAL_ORIGIN'] ?? ''),
    /** The configured chains, where CHAINS_FILE names them. */
    chains: () => (env['CHAINS_FILE'] ? loadChains(env['CHAINS_FILE'], env) : undefined),
    [Symbol.asyncDispose]: () => scope.disposeAsync(),
  };
}

function secretKeysOf(env: Environment) {
  const text = env['ROLECALL_SECRET_KEYS'];
  if (!text) throw new ServiceError('config-invalid', 'ROLECALL_SECRET_KEYS: missing');
  return parseKeyRing(text);
}
