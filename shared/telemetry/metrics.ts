import { collectDefaultMetrics, Registry } from 'prom-client';

export type { Registry };

/** From 1 ms to 60 s: fine where an answer is expected, coarse where it is late. */
export const SECONDS_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** The registry of a process, with Node's own figures in it and the service's name on every series. */
export function makeRegistry(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  return registry;
}
