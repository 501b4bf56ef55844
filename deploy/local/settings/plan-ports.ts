import { SERVICES, type ServiceName } from '../system/services.ts';
import type { StartOptions } from './options.ts';

export type PlannedProcess = {
  readonly service: ServiceName;
  /** `evaluator`, or `evaluator-2` where there are several. */
  readonly name: string;
  readonly opsPort: number;
  /** Where the process serves HTTP to others, if it does. */
  readonly httpPort: number | undefined;
};

export type PortPlan = {
  readonly kafka: number;
  readonly kafkaController: number;
  readonly redis: number;
  readonly chain: number;
  readonly processes: readonly PlannedProcess[];
};

/**
 * Which port everything gets, counted from `--port-base` N: gateway N (further ones N+20, N+21, …),
 * portal N+1, Kafka N+2 and N+3, Redis N+4, demo chain N+5, ops ports from N+40.
 */
export function planPorts(options: StartOptions): PortPlan {
  const base = options.portBase;
  const all = SERVICES.flatMap(({ service, countOf, httpPortOf }) => {
    const count = countOf(options);
    return Array.from({ length: count }, (_, index) => ({
      service,
      name: count > 1 ? `${service}-${index + 1}` : service,
      httpPort: httpPortOf?.(base, index),
    }));
  });
  return {
    kafka: base + 2,
    kafkaController: base + 3,
    redis: base + 4,
    chain: base + 5,
    processes: all.map((process, index) => ({ ...process, opsPort: base + 40 + index })),
  };
}
