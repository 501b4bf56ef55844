import { mkdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Child, spawnChild } from '../processes/child.ts';
import { logTail } from '../processes/log-tail.ts';
import { waitUntilUp } from '../processes/wait-until-up.ts';
import { requireFreePorts } from '../settings/ports.ts';
import { loadToolchain } from './toolchain.ts';

/** Long, because a starter that waits for a core reads the answer late: its timer would end every
 * probe first. */
const PROBE_TIMEOUT_MS = 5_000;

type RedisOptions = {
  readonly dir: string;
  readonly port: number;
  readonly signal?: AbortSignal | undefined;
  readonly onSpawn?: ((pid: number) => void) | undefined;
};

type RunningRedis = Child & { readonly url: string };

/**
 * Starts one real Redis on this machine with an append-only file that is synced every second and
 * never evicts, and waits until it has read its data.
 *
 * @throws Error if it ends (a port in use, data of a newer version) or is not up in 180 s; nothing
 *   is left running then.
 *
 * @example
 * await using redis = await startRedis({ dir: '/tmp/r', port: 21_004 });
 * redis.url; // 'redis://127.0.0.1:21004'
 */
export async function startRedis(options: RedisOptions): Promise<RunningRedis> {
  const { dir, port, signal, onSpawn } = options;
  const log = join(dir, 'redis.log');
  await requireFreePorts([{ port, program: 'Redis' }]);
  mkdirSync(dir, { recursive: true });
  rmSync(log, { force: true });
  // Debian ships the server under another name; it decides by argv[0] which program it is.
  const child = await spawnChild(loadToolchain().redis, redisArgs(dir, port, log), {
    argv0: 'redis-server',
    stdio: 'ignore',
    onSpawn,
  });
  const wait = { what: 'Redis', signal, logTail: () => logTail(log) };
  await waitUntilUp(child, () => answersPing(port, child.pid), wait);
  return { ...child, url: `redis://127.0.0.1:${port}` };
}

/** Source: https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/ */
function redisArgs(dir: string, port: number, log: string): string[] {
  const settings = {
    bind: '127.0.0.1',
    port: String(port),
    dir,
    logfile: log,
    appendonly: 'yes',
    appendfsync: 'everysec',
    'maxmemory-policy': 'noeviction',
    // The append-only file is the persistence; snapshots beside it would only cost.
    save: '',
    daemonize: 'no',
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}

/** Asks for the process id as well: another Redis on this port would answer a mere PING. */
function answersPing(port: number, pid: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: PROBE_TIMEOUT_MS });
    let answer = '';
    const end = (isUp: boolean): void => {
      socket.destroy();
      resolve(isUp);
    };
    socket.once('connect', () => socket.write('PING\r\nINFO server\r\n'));
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      if (answer.startsWith('-')) end(false);
      const found = /process_id:(\d+)/.exec(answer);
      if (found) end(answer.startsWith('+PONG') && Number(found[1]) === pid);
    });
    for (const event of ['error', 'timeout', 'close']) socket.once(event, () => end(false));
  });
}
