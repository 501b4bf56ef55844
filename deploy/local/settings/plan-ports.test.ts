import { PROCESSES_MAX, parseOptions } from './options.ts';
import { planPorts } from './plan-ports.ts';

const plan = (...argv: string[]) => planPorts(parseOptions(argv, () => {}));

test('counts the ports from the base, as deploy/README.md says', () => {
  const { kafka, kafkaController, redis, chain, processes } = plan('--port-base', '20000', '--gateways', '3');
  expect([kafka, kafkaController, redis, chain]).toEqual([20_002, 20_003, 20_004, 20_005]);
  expect(processes.map(({ name, httpPort, opsPort }) => [name, httpPort, opsPort])).toEqual([
    ['gateway-1', 20_000, 20_040],
    ['gateway-2', 20_020, 20_041],
    ['gateway-3', 20_021, 20_042],
    ['evaluator', undefined, 20_043],
    ['result-store', undefined, 20_044],
    ['webhook-dispatcher', undefined, 20_045],
    ['watcher', undefined, 20_046],
    ['developer-portal', 20_001, 20_047],
  ]);
});

test('no two parts share a port, however many processes there are', () => {
  const most = String(PROCESSES_MAX);
  const counts = ['--gateways', '--evaluators', '--result-stores', '--dispatchers', '--watchers'].flatMap(
    (name) => [name, most],
  );
  const { kafka, kafkaController, redis, chain, processes } = plan(...counts);
  const http = processes.flatMap(({ httpPort }) => (httpPort === undefined ? [] : [httpPort]));
  const all = [kafka, kafkaController, redis, chain, ...http, ...processes.map(({ opsPort }) => opsPort)];
  expect(new Set(all).size).toBe(all.length);
});

test('a service with no processes has no ports', () => {
  const { processes } = plan('--evaluators', '0');
  expect(processes.map(({ name }) => name)).toEqual([
    'gateway',
    'result-store',
    'webhook-dispatcher',
    'watcher',
    'developer-portal',
  ]);
});
