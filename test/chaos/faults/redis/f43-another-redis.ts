import { loadLocalSystem } from '../../../../services/developer-portal/admin/local-system.ts';
import { spawnNode } from '../../../support/systems/spawn-process.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';

const CONSUMERS = ['result-store', 'evaluator', 'watcher', 'webhook-dispatcher'];
/** Databases of the same server: one is empty, the other holds what is on another cluster. */
const [EMPTY, OTHERS] = [5, 6];
const REFUSAL = { [EMPTY]: 'another Redis than the one', [OTHERS]: 'name two systems' };

export const f43AnotherRedis: Fault = {
  id: 'F43',
  title: 'a second system’s processes are started on this Kafka with another Redis, empty or not',
  async run({ system, scope, seconds, rest }) {
    const { environment } = loadLocalSystem(system.dataDir);
    const { redis } = system.open;
    await redis.multi().select(OTHERS).set('system:kafka', 'another-cluster').select(0).exec();
    const beganMs = Date.now();
    const children = [EMPTY, OTHERS].flatMap((database) =>
      CONSUMERS.map((service) => {
        const url = `${system.ready.redis}/${database}`;
        const env = { ...environment, REDIS_URL: url, OPS_HOST: '127.0.0.1', OPS_PORT: '0' };
        const child = scope.use(spawnNode([`services/${service}/main.ts`], env));
        return { service, child, refusal: REFUSAL[database] ?? '' };
      }),
    );
    const codes = await Promise.all(children.map(({ child }) => child.exited));
    const tookMs = Date.now() - beganMs;
    await rest(seconds * 500);
    return ({ evaluatedAgain }) => ({
      figures: [
        atMost('evaluated again', evaluatedAgain, 0),
        atMost('refused after', tookMs / 1_000, 30, 's'),
      ],
      broken: children.flatMap(({ service, child, refusal }, index) => {
        const output = child.stdout();
        return [
          ...(codes[index] === 1 && output.includes(refusal)
            ? []
            : [`${service} did not refuse: ${refusal}`]),
          ...(output.includes('joined consumer group') ? [`${service} joined a group`] : []),
        ];
      }),
    });
  },
};
