import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { receiveWebhooks } from '../support/fakes/receive-webhooks.ts';
import { type StartedSystem, startSystem } from '../support/systems/start-system.ts';
import type { EarlierVersion } from './earlier-version.ts';
import { examineSystem } from './examine-system.ts';
import { fillApps } from './fill-apps.ts';
import { fillChecks, stopOverBacklog } from './fill-checks.ts';
import type { Run } from './run.ts';

/** A retry of the second tier is due after a minute: long after the restart. */
const ENVIRONMENT = { WEBHOOK_SCHEDULE_SCALE: '0.2', WEBHOOK_CONNECT_TIMEOUT_MS: '1000' };
const ARGS = ['--evaluators', '2'];

/**
 * Stops a system of the earlier version with work of every kind in it, and starts this version on its data.
 *
 * @throws Error if one of the two systems does not start, or the earlier one cannot be filled
 */
export async function restartOnData({ earlier, tally, say, scope }: Run): Promise<void> {
  const { dataDir } = earlier;
  const start = async (options: Parameters<typeof startSystem>[0]): Promise<StartedSystem> =>
    scope.use(
      await startSystem({ dataDir, args: ARGS, ...options, env: { ...ENVIRONMENT, ...options?.env } }),
    );

  const before = await start({ root: earlier.root, env: { NODE_OPTIONS: preloadsOf(earlier) } });
  const { portBase } = before;
  say('the earlier version is ready');
  const apps = await fillApps(before);
  const receivers = {
    healthy: scope.use(await receiveWebhooks()),
    failing: scope.use(await receiveWebhooks({ secret: apps.main.webhookSecret, answer: 503 })),
    gone: scope.use(await receiveWebhooks({ secret: apps.main.webhookSecret, answer: 410 })),
  };
  const checks = await fillChecks(before, apps, receivers);
  const backlog = await stopOverBacklog(before, apps, receivers);
  say('the earlier version has stopped');

  receivers.failing.setAnswer(204);
  const system = await start({ portBase });
  say('this version is ready on its data');
  await examineSystem({ system, apps, checks, backlog, receivers, tally });
}

/** Bugs that the earlier version meets on messages that name them. */
function preloadsOf({ root }: EarlierVersion): string {
  const own = fileURLToPath(new URL('./preload/store-bug.ts', import.meta.url));
  return [join(root, 'test/chaos/preload/handler-bug.ts'), own].map((file) => `--import=${file}`).join(' ');
}
