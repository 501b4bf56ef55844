import { loadLocalSystem } from '../../../../services/developer-portal/admin/local-system.ts';
import { spawnNode } from '../../../support/systems/spawn-process.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';

const CONSUMERS = ['result-store', 'evaluator', 'watcher', 'webhook-dispatcher'];
/** Databases of the same server: one is empty, the other belongs to another cluster. */
const [EMPTY, OTHERS] = [5, 6];
const REFUSAL = { [EMPTY]: 'another Redis than the one', [OTHERS]: 'name two systems' };

export const f43AnotherRedis: Fault = {
  id: 'F43',
  title: 'a second system’s processes are started on this Kafka with another Redis, empty or not',
  async run({ system, seconds, rest }) {
    const { environment } = loadLocalSystem(system.dataDir);
    const { redis } = system.open;
    await redis.multi().select(OTHERS).set('system:kafka', 'another-cluster').select(0).exec();
    const broken: string[] = [];
    let slowestMs = 0;
    // Two at a time: eight processes that start at once would take the cores from the system.
    for (const service of CONSUMERS)
      await Promise.all(
        [EMPTY, OTHERS].map(async (database) => {
          const beganMs = Date.now();
          const url = `${system.ready.redis}/${database}`;
          const env = { ...environment, REDIS_URL: url, OPS_HOST: '127.0.0.1', OPS_PORT: '0' };
          await using child = spawnNode([`services/${service}/main.ts`], env);
          const code = await child.exited;
          slowestMs = Math.max(slowestMs, Date.now() - beganMs);
          const refusal = REFUSAL[database] ?? '';
          if (code !== 1 || !child.stdout().includes(refusal))
            broken.push(`${service} did not refuse: ${refusal}`);
          if (child.stdout().includes('joined consumer group')) broken.push(`${service} joined a group`);
        }),
      );
    await rest(seconds * 500);
    return ({ evaluatedAgain }) => ({
      figures: [
        atMost('evaluated again', evaluatedAgain, 0),
        atMost('slowest refusal', slowestMs / 1_000, 20, 's'),
      ],
      broken,
    });
  },
};
