import { setTimeout as delay } from 'node:timers/promises';
import type { FaultKind } from '../../../support/fakes/rpc-fault-proxy.ts';
import type { Random } from '../../../support/random.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { type WatchedMembers, watchMembers } from '../../load/watched-members.ts';
import type { ChaosSystem } from '../../system/chaos-system.ts';

const MEMBERS = 200;
const VICTIMS = [
  'watcher',
  'evaluator',
  'result-store',
  'webhook-dispatcher',
  'gateway',
  'redis',
  'kafka',
] as const;
const RPC_FAULTS: readonly FaultKind[] = [
  'none',
  'http-500',
  'malformed',
  'stale-head',
  'rpc-error',
  'no-logs',
  'ten-blocks-of-logs',
  'fewer-logs',
];
const MOVES_PAUSE_MS = 100;
const KILL_EVERY_MS = 8_000;
const REORG_IN_MOVES = 20;
const REORG_DEPTH_MAX = 5;
const UNITS_MAX = 2;

/**
 * The ledger of watches: the seed chooses mints, burns, transfers, reorgs, rule-set changes and
 * faulty endpoints, while every process is killed in turn; in the end Redis is emptied.
 */
export const f31Watches: Fault = {
  id: 'F31',
  title: 'each process killed while the tokens of watched members move, broker and Redis too; Redis wiped',
  async run({ system, random, scope }) {
    const watched = await watchMembers(system, scope, { count: MEMBERS });
    for (let i = 0; i < MEMBERS / 2; i++) await watched.move(random);
    await watched.watch();
    for (const victim of VICTIMS) {
      await watched.require(1 + random.below(UNITS_MAX));
      await spoilEndpoint(system, random);
      system.signal(victim, 'SIGKILL', 0);
      await moveFor(watched, random, KILL_EVERY_MS);
      for (const endpoint of system.chains.main) await endpoint.setFault('none');
      await system.waitUntilReady();
    }
    await system.open.redis.flushall('ASYNC');
    await moveFor(watched, random, KILL_EVERY_MS);
    await system.waitUntilReady();
    const settledS = await watched.untilRight();
    return async () => ({
      figures: [atMost('last move to a correct last event', settledS, 30, 's')],
      broken: await watched.judge(),
    });
  },
};

/** Only one endpoint of the two, so that the load's own checks can be read. */
async function spoilEndpoint({ chains }: ChaosSystem, random: Random): Promise<void> {
  const kind = RPC_FAULTS[random.below(RPC_FAULTS.length)] ?? 'none';
  await chains.main[random.below(chains.main.length)]?.setFault(kind);
}

async function moveFor(watched: WatchedMembers, random: Random, forMs: number): Promise<void> {
  const endMs = Date.now() + forMs;
  while (Date.now() < endMs) {
    if (random.below(REORG_IN_MOVES) > 0) await watched.move(random);
    else await watched.reorg(1 + random.below(REORG_DEPTH_MAX), () => watched.move(random));
    await delay(MOVES_PAUSE_MS);
  }
}
