import { setTimeout as delay } from 'node:timers/promises';
import { PASSWORD, type PortalClient, signUp } from '../../../support/systems/start-portal.ts';
import type { Fault } from '../../fault.ts';
import { atMost, begunIn, resultTimes, timesBaseline } from '../../judges/measure.ts';
import { latenessOf } from '../../judges/webhook-times.ts';
import { makeHostileClient, startAttack } from '../../load/hostile-client.ts';
import type { ChaosSystem } from '../../system/chaos-system.ts';
import { rssMibOf } from '../../system/process-facts.ts';

const VISIT_INTERVAL_MS = 1_000;
const SIGN_IN_EVERY = 5;
/** Codes for a client that a bound refuses; other failures are those of a busy machine. */
const TURNED_AWAY: ReadonlySet<string> = new Set(['overloaded', 'rate-limited', 'monthly-quota-exceeded']);

/** The load plays the other client; a visitor of the portal shares the attacker's address. */
export const f35HostileClient: Fault = {
  id: 'F35',
  title:
    "one client's app with 1 000 keys, 1 000 apps made and deleted, half-sent requests, all receivers hanging",
  // Its webhooks stay pending for hours after the row.
  isDestructive: true,
  async run(scene) {
    const { system, ledger, receiver, seconds, rest } = scene;
    const hostile = await makeHostileClient(system);
    const visitor = await signUp(system.ready.portal);
    const baseline = await rest(seconds * 500);
    const before = await memoryOf(system);
    const visits = startVisits(visitor);
    const attack = await startAttack(scene, hostile);
    const underFault = await rest(seconds * 1_000);
    const after = await memoryOf(system);
    const statuses = await visits.end();
    await attack.end();
    const { keysUsed, appsMade, hanging } = attack.counts();
    return () => {
      const timesIn = (span: typeof baseline) => resultTimes(begunIn(ledger.attempts, span));
      const latenessIn = ({ fromMs, toMs }: typeof baseline) =>
        latenessOf(receiver.deliveries.filter(({ atMs }) => atMs >= fromMs && atMs < toMs));
      const turnedAway = begunIn(ledger.attempts, underFault).flatMap(({ code = '' }) =>
        TURNED_AWAY.has(code) ? [`another client's check was answered ${code}`] : [],
      );
      const unserved = statuses.filter((status) => status !== 200);
      return {
        figures: [
          timesBaseline("others' p99", timesIn(underFault), timesIn(baseline), 1.5),
          timesBaseline("others' webhooks p99", latenessIn(underFault), latenessIn(baseline), 1.5),
          atMost("gateways' memory", after.gateway / before.gateway, 1.5, '×'),
          atMost("portal's memory", after.portal / before.portal, 1.5, '×'),
          atMost("Redis's growth", after.redisMib - before.redisMib, 64, 'MiB'),
          {
            what: 'attack',
            measured: `${keysUsed} keys used, ${appsMade} apps made, ${hanging} webhooks hung`,
            goal: 'all keys, some webhooks',
            met: keysUsed === hostile.keys.length && hanging > 0,
          },
        ],
        broken: [
          ...turnedAway,
          ...unserved.map((status) => `a visitor of the portal was answered ${status}`),
        ],
      };
    };
  },
};

/** Resident memory of the largest gateway and of the portal, and the memory of Redis. */
async function memoryOf({ running, open }: ChaosSystem) {
  const rssOf = (service: string) => Math.max(...running(service).map(({ pid }) => rssMibOf(pid)));
  const usedBytes = /^used_memory:(\d+)/m.exec(await open.redis.info('memory'))?.[1];
  return {
    gateway: rssOf('gateway'),
    portal: rssOf('developer-portal'),
    redisMib: Number(usedBytes ?? 0) / 1024 / 1024,
  };
}

/** Visits the portal repeatedly and signs in now and then; returns the status of each visit. */
function startVisits(visitor: PortalClient) {
  const ended = new AbortController();
  const statuses: number[] = [];
  const visit = async (): Promise<void> => {
    for (let i = 0; !ended.signal.aborted; i += 1) {
      statuses.push((await visitor.get('/api/session')).status);
      if (i % SIGN_IN_EVERY === 0) {
        const form = { email: visitor.email, password: PASSWORD };
        statuses.push((await visitor.send('POST', '/api/sign-in', form)).status);
      }
      await delay(VISIT_INTERVAL_MS, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  };
  const visiting = visit();
  return {
    async end(): Promise<readonly number[]> {
      ended.abort();
      await visiting;
      return statuses;
    },
  };
}
