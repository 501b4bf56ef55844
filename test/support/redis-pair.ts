import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startRedis } from '../../deploy/local/redis.ts';
import { type Forwarder, forwardTcp } from './forward-tcp.ts';
import { waitUntil } from './wait-until.ts';

export type RedisPair = Awaited<ReturnType<typeof startRedisPair>>;

/** Where the pair listens. Clients use `port`. */
export type PairPlace = {
  readonly dir: string;
  readonly port: number;
  readonly ports: readonly [number, number];
};

/** A primary and its replica behind one address. */
export async function startRedisPair({ dir, port, ports }: PairPlace) {
  await using scope = new AsyncDisposableStack();
  const [first, second] = ports;
  for (const each of ports) scope.use(await startRedis({ dir: join(dir, `redis-${each}`), port: each }));
  const open = (at: number): Redis => {
    const redis = new Redis({ host: '127.0.0.1', port: at });
    scope.defer(() => redis.disconnect());
    return redis;
  };
  const [one, other] = [open(first), open(second)];
  for (const redis of [one, other]) await redis.config('SET', 'repl-diskless-sync-delay', 0);
  const follow = async (follower: Redis, leader: number) => {
    await follower.replicaof('127.0.0.1', leader);
    await waitUntil('the replica to have the data', async () =>
      (await follower.info('replication')).includes('master_link_status:up'),
    );
  };
  await follow(other, first);
  const forwarder: Forwarder = scope.use(await forwardTcp(port, first));
  const whole = scope.move();
  return {
    url: `redis://127.0.0.1:${port}`,
    ports,
    /** The first primary, and the server that is promoted. */
    one,
    other,
    forwarder,
    /** Promotes the replica; the first primary becomes its replica, and closes no connection. New ones lead to the new primary. */
    async failOver() {
      await promote();
      forwarder.leadTo(second);
    },
    /** The same while the address still leads to the old primary. */
    promote,
    countLeft: () => forwarder.countTo(first),
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };

  async function promote(): Promise<void> {
    await other.replicaof('NO', 'ONE');
    await follow(one, second);
  }
}
