import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { backAfter, judgeAway } from '../../judges/watch-away.ts';
import type { Running } from '../../system/chaos-system.ts';

const WORKS_AGAIN_MS_MAX = 60_000;
const BETWEEN_MS = 5_000;
/** Long enough for every process to have asked for the server's role. */
const ON_REPLICA_MS = 6_000;

/**
 * First the address moves together with the role, as when a failover is announced by DNS. Then the
 * replica is promoted while the address still leads to the other server, which is now a replica.
 * Neither closes a connection.
 */
export const f36RedisFailover: Fault = {
  id: 'F36',
  title: 'Redis fails over, and the old primary keeps its connections and continues as a replica',
  needs: { redisPair: true },
  isDestructive: true,
  async run({ system, ledger, seconds, rest }) {
    const pair = system.redisPair?.get();
    if (!pair) throw new Error('F36 needs a pair of Redis servers');
    await pair.promote();
    pair.moveAddress();
    const movedAt = Date.now();
    await waitUntil('every connection to leave', () => pair.countLeft() === 0, WORKS_AGAIN_MS_MAX);
    const leftAt = Date.now();
    await system.waitUntilReady();
    const readyAt = Date.now();
    await rest(Math.max(BETWEEN_MS, seconds * 500));

    await pair.promote();
    const away = await rest(ON_REPLICA_MS);
    const ready = await readyOnReplica(system.running());
    pair.moveAddress();
    const secondMovedAt = Date.now();
    await rest(Math.max(BETWEEN_MS, seconds * 500));
    return () => ({
      figures: [
        atMost('works again', backAfter(ledger.attempts, movedAt) / 1_000, 30, 's'),
        atMost('no connection leads to the replica', (leftAt - movedAt) / 1_000, 30, 's'),
        atMost('every process ready', (readyAt - movedAt) / 1_000, 30, 's'),
        atMost(
          'works again after a late move of the address',
          backAfter(ledger.attempts, secondMovedAt) / 1_000,
          30,
          's',
        ),
      ],
      broken: [...ready.map((name) => `${name} is ready on a replica`), ...judgeAway(ledger.attempts, away)],
    });
  },
};

/** The services that call themselves ready. */
async function readyOnReplica(running: readonly Running[]): Promise<string[]> {
  const answers = await Promise.all(
    running.map(async ({ service, ops }) =>
      ops !== null && (await fetch(`${ops}/readyz`)).status === 200 ? [service] : [],
    ),
  );
  return answers.flat();
}
