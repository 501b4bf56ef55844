import { join } from 'node:path';
import type { StartOptions } from '../settings/options.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/**
 * The services in the order in which their ports are counted. Those that take requests from outside
 * stop first, while the processes that answer them still run.
 */
export const SERVICES = [
  {
    service: 'gateway',
    countOf: (options: StartOptions): number => options.gateways,
    httpPortOf: (base: number, index: number): number => (index === 0 ? base : base + 19 + index),
    keys: ['ROLECALL_ID_KEYS', 'ROLECALL_PROOF_PUBLIC_KEYS'],
    stopsFirst: true,
  },
  {
    service: 'evaluator',
    countOf: (options: StartOptions): number => options.evaluators,
    httpPortOf: undefined,
    keys: ['ROLECALL_PROOF_KEYS'],
    stopsFirst: false,
  },
  {
    service: 'result-store',
    countOf: (options: StartOptions): number => options.resultStores,
    httpPortOf: undefined,
    keys: [],
    stopsFirst: false,
  },
  {
    service: 'webhook-dispatcher',
    countOf: (options: StartOptions): number => options.dispatchers,
    httpPortOf: undefined,
    keys: ['ROLECALL_SECRET_KEYS'],
    stopsFirst: false,
  },
  {
    service: 'watcher',
    countOf: (options: StartOptions): number => options.watchers,
    httpPortOf: undefined,
    keys: [],
    stopsFirst: false,
  },
  {
    service: 'developer-portal',
    countOf: (): number => 1,
    httpPortOf: (base: number): number => base + 1,
    keys: ['ROLECALL_SECRET_KEYS'],
    stopsFirst: true,
  },
] as const;

export type ServiceName = (typeof SERVICES)[number]['service'];

export const serviceOf = (name: ServiceName): (typeof SERVICES)[number] => {
  const found = SERVICES.find(({ service }) => service === name);
  if (!found) throw new Error(`unknown service ${name}`);
  return found;
};

/** The file that runs a service. */
export const mainFileOf = (service: ServiceName): string => join(ROOT, 'services', service, 'main.ts');
