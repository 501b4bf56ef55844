import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { VIEW_KEYS } from '#shared/redis/fence.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { Scene } from '../fault.ts';
import type { Span } from '../judges/measure.ts';
import type { ChaosSystem } from './chaos-system.ts';

const LOST_MS = 1_000;
const AWAY_MS = 3_000;

type Rewound = {
  /** While Redis was away. */
  readonly away: Span;
  /** From its return until the ends of the topics were read again. */
  readonly noticedMs: number;
  readonly lostBytes: number;
};

/**
 * Redis comes back with its marker and without the writes of its last second: its log is cut where
 * it ended then. A promoted replica that lags as far behind looks the same: another run of the
 * server with older data. Returns once the system has repaired the views.
 *
 * @param lose what happens in the time that is lost; default a second of the load
 */
export async function rewindRedis(
  { system, rest }: Pick<Scene, 'system' | 'rest'>,
  lose: () => Promise<unknown> = () => rest(LOST_MS),
): Promise<Rewound> {
  await stopRewrites(system);
  const log = commandLog(system);
  const keptBytes = statSync(log).size;
  await lose();
  const wholeSince = await readWholeSince(system);
  system.gates.hold('redis');
  system.signal('redis', 'SIGKILL');
  const away = await rest(AWAY_MS);
  const lostBytes = statSync(log).size - keptBytes;
  truncateSync(log, keptBytes);
  system.gates.release('redis');
  await waitUntil('Redis', async () => (await system.open.redis.ping().catch(() => '')) === 'PONG');
  const upAt = Date.now();
  await waitUntil('the end of every topic to be read again', async () => {
    const since = await readWholeSince(system).catch(() => wholeSince);
    const state = await system.open.views.readState().catch(() => undefined);
    return since !== wholeSince && state === 'complete';
  });
  return { away, noticedMs: Date.now() - upAt, lostBytes };
}

/** Changes with every replay, and is restored together with the data. */
const readWholeSince = ({ open }: ChaosSystem): Promise<string | null> => open.redis.get(VIEW_KEYS.marker);

/**
 * Redis continues in another file when it rewrites its log. The cut would then leave a hole before
 * later commands, which no restart and no replica can have.
 */
async function stopRewrites({ open }: ChaosSystem): Promise<void> {
  await open.redis.config('SET', 'auto-aof-rewrite-percentage', 0);
  await waitUntil('the end of a rewrite of the log', async () => {
    const info = await open.redis.info('persistence');
    return info.includes('aof_rewrite_in_progress:0') && info.includes('aof_rewrite_scheduled:0');
  });
}

/** The file that Redis appends its commands to. */
function commandLog({ dataDir }: ChaosSystem): string {
  const logs = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.incr.aof'),
  );
  const [last] = logs.sort().slice(-1);
  if (last === undefined) throw new Error('Redis keeps no log of its commands');
  return join(dataDir, last);
}
