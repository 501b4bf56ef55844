import { join } from 'node:path';
import { startChain } from '../infrastructure/chain.ts';
import { startKafka } from '../infrastructure/kafka.ts';
import { startRedis } from '../infrastructure/redis.ts';
import type { Lines } from '../processes/lines.ts';
import type { LocalEnvironment } from '../settings/local-environment.ts';
import type { PlannedProcess, PortPlan } from '../settings/plan-ports.ts';
import type { Member } from './make-fleet.ts';
import { serviceOf } from './services.ts';
import { startService } from './start-service.ts';

const infrastructure = { kind: 'infrastructure', ops: null } as const;

/** Kafka as a member of the fleet. */
export const kafkaPart = (dir: string, ports: PortPlan): Member => ({
  ...infrastructure,
  name: 'kafka',
  service: 'kafka',
  stage: 'broker',
  start: (hooks) =>
    startKafka({
      dir: join(dir, 'kafka'),
      port: ports.kafka,
      controllerPort: ports.kafkaController,
      ...hooks,
    }),
});

/** Redis as a member of the fleet. */
export const redisPart = (dir: string, ports: PortPlan): Member => ({
  ...infrastructure,
  name: 'redis',
  service: 'redis',
  stage: 'store',
  start: (hooks) => startRedis({ dir: join(dir, 'redis'), port: ports.redis, ...hooks }),
});

/** The demo chain as a member of the fleet: started again, it deploys its tokens again. */
export const chainPart = (ports: PortPlan): Member => ({
  ...infrastructure,
  name: 'chain',
  service: 'chain',
  stage: 'chain',
  start: (hooks) => startChain({ port: ports.chain, ...hooks }),
});

/** One process of a service as a member of the fleet. */
export const servicePart = (
  planned: PlannedProcess,
  environment: LocalEnvironment,
  lines: Lines,
): Member & { readonly ops: string } => ({
  kind: 'service',
  name: planned.name,
  service: planned.service,
  stage: serviceOf(planned.service).stopsFirst ? 'edge' : 'workers',
  ops: `http://127.0.0.1:${planned.opsPort}`,
  start: (hooks) => startService(planned, environment, lines, hooks),
});
