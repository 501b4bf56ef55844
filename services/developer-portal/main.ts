import { connectSystem } from '#shared/connect-system.ts';
import { startHttpServer } from '#shared/http/http-server.ts';
import { runService } from '#shared/lifecycle.ts';
import { startRepeating } from '#shared/repeat.ts';
import { makeSecretBox } from '#shared/secret-box.ts';
import { makeThrottledWarning } from '#shared/telemetry/log-throttle.ts';
import { makeApp } from './app.ts';
import { loadChains, loadConfig, loadSecrets } from './config.ts';
import { makeDependencies } from './dependencies.ts';
import { makeMailer } from './features/accounts/mailer.ts';
import { makeHandlers } from './features/handlers.ts';
import { makeSendNotices } from './features/notices/send-notices.ts';
import { makeIdentityProvider } from './features/single-sign-on/identity-provider.ts';
import { makeWork } from './features/work.ts';
import { COMMON_HEADERS } from './http/answer.ts';
import { makeMetrics } from './metrics.ts';

/** How long readiness fails before the listener closes. */
const READINESS_LEAD_MS = 500;
/** How often it looks whether it is time to look for notices. */
const NOTICES_INTERVAL_MS = 60_000;

await runService(
  'developer-portal',
  () => loadConfig(process.env),
  async (scope, context, config) => {
    const secrets = loadSecrets(process.env);
    const box = makeSecretBox(secrets.keys);
    const { redis, clock, bytes, kafka } = await connectSystem('developer-portal', scope, context, config);
    const metrics = makeMetrics(context.metrics);
    const mail = secrets.mail && {
      origin: secrets.mail.origin,
      mailer: scope.use(makeMailer(secrets.mail, { metrics, log: context.log })),
    };
    const identityProvider =
      secrets.identityProvider && makeIdentityProvider(secrets.identityProvider, context.log);
    const connections = { redis, publish: kafka.publish, box, now: clock.now };
    const work = makeWork(connections, bytes.add);
    if (mail)
      scope.use(
        startRepeating(makeSendNotices({ ...work, mail, stopping: context.stopping }), {
          intervalMs: NOTICES_INTERVAL_MS,
          startsAtOnce: true,
          onError: makeThrottledWarning(context.log, 'notices not sent', NOTICES_INTERVAL_MS),
        }),
      );
    const chains = loadChains(config.chainsFile, process.env);
    const deps = makeDependencies({ work, kafka, config, chains, log: context.log, mail, identityProvider });
    const app = makeApp({ ...deps, handlers: makeHandlers(deps), metrics, log: context.log });
    const server = scope.use(
      await startHttpServer(app, {
        ...config.http,
        readinessLeadMs: READINESS_LEAD_MS,
        headers: COMMON_HEADERS,
      }),
    );
    context.log.info({ httpPort: server.port }, 'listening');
  },
);
