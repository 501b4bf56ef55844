import { type Child, spawnChild } from '../processes/child.ts';
import type { Lines } from '../processes/lines.ts';
import { environmentOf, type LocalEnvironment } from '../settings/local-environment.ts';
import type { PlannedProcess } from '../settings/plan-ports.ts';
import { mainFileOf } from './services.ts';

/** A service ends by itself within its own SHUTDOWN_TIMEOUT_MS; it is killed if it does not keep to
 * that. */
const STOP_MARGIN_MS = 2_000;
/** As in the image, unless NODE_OPTIONS has another: an argument would go before it. */
const HEAP_LIMIT = '--max-old-space-size=768';
/** The longest default: that of a gateway with the longest SYNC_DEADLINE_MS. */
const STOP_TIMEOUT_MS_DEFAULT = 29_000;

type ServiceHooks = { readonly onSpawn: (pid: number) => void };

/** Starts the process of one service; that it is up is seen on its ops port. */
export async function startService(
  planned: PlannedProcess,
  environment: LocalEnvironment,
  lines: Lines,
  { onSpawn }: ServiceHooks,
): Promise<Child> {
  const own = Number(environment.common['SHUTDOWN_TIMEOUT_MS']);
  const env = environmentOf(planned, environment);
  const isLimited = env['NODE_OPTIONS']?.includes('--max-old-space-size') ?? false;
  const limit = isLimited ? [] : [HEAP_LIMIT];
  const child = await spawnChild(process.execPath, [...limit, mainFileOf(planned.service)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
    stopTimeoutMs: (own > 0 ? own : STOP_TIMEOUT_MS_DEFAULT) + STOP_MARGIN_MS,
    onSpawn,
  });
  lines.follow(planned.name, child.process.stdout, child.process.stderr);
  return child;
}
