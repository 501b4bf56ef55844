import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startRedis } from '../../../deploy/local/infrastructure/redis.ts';
import { forwardTcp } from '../fakes/forward-tcp.ts';
import { waitUntil } from '../wait-until.ts';

type Server = { readonly port: number; readonly redis: Redis };

/** Where a pair runs: clients use `port`, and the servers have `ports`. */
export type PairPlace = {
  readonly dir: string;
  readonly port: number;
  readonly ports: readonly [number, number];
  readonly onSpawn?: ((pid: number) => void) | undefined;
};

export type RedisPair = Awaited<ReturnType<typeof startRedisPair>>;

/**
 * Starts a primary and its replica behind one address.
 *
 * @example
 * await using pair = await startRedisPair({ dir, port, ports: [first, second] });
 * await pair.promote(); // the other one is the primary, and every connection is still open
 * pair.moveAddress();   // new connections lead to it
 */
export async function startRedisPair({ dir, port, ports, onSpawn }: PairPlace) {
  await using scope = new AsyncDisposableStack();
  const start = async (at: number, spawned?: PairPlace['onSpawn']) => {
    const running = scope.use(
      await startRedis({ dir: join(dir, `redis-${at}`), port: at, onSpawn: spawned }),
    );
    const redis = new Redis({ host: '127.0.0.1', port: at });
    scope.defer(() => redis.disconnect());
    await redis.config('SET', 'repl-diskless-sync-delay', 0);
    return { running, port: at, redis };
  };
  const [first, second] = [await start(ports[0], onSpawn), await start(ports[1])];
  const forwarder = scope.use(await forwardTcp(port, first.port));
  const follow = async (follower: Server, leader: Server) => {
    await follower.redis.replicaof('127.0.0.1', leader.port);
    await waitUntil('the replica to have the data', async () =>
      (await follower.redis.info('replication')).includes('master_link_status:up'),
    );
  };
  let [primary, replica]: [Server, Server] = [first, second];
  await follow(replica, primary);
  const whole = scope.move();
  return {
    url: `redis://127.0.0.1:${port}`,
    /** The server that is the primary at first. */
    first: first.running,
    forwarder,
    primary: () => primary.redis,
    /** Promotes the replica. The primary becomes its replica and closes no connection. */
    async promote() {
      [primary, replica] = [replica, primary];
      await primary.redis.replicaof('NO', 'ONE');
      await follow(replica, primary);
    },
    /** Leads new connections to the primary. */
    moveAddress: () => forwarder.leadTo(primary.port),
    /** Connections that still lead to the replica. */
    countLeft: () => forwarder.countTo(replica.port),
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}
