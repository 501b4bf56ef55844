import { once } from 'node:events';
import { createServer } from 'node:net';
import { findPortBase } from '../../../test/support/systems/start-system.ts';
import { findFreePorts, isPortFree, requireFreePorts, STABLE_PORT_MAX } from './ports.ts';

test('names every port in use with its purpose, and the option that chooses others', async () => {
  const [first = 0, second = 0, free = 0] = await findFreePorts(3);
  const servers = [first, second].map((port) => createServer().listen(port, '127.0.0.1'));
  try {
    await Promise.all(servers.map((server) => server.listening || once(server, 'listening')));
    const wanted = [
      { port: first, program: 'Kafka' },
      { port: free, program: 'Redis' },
      { port: second, program: 'gateway' },
    ];
    await expect(requireFreePorts(wanted)).rejects.toThrow(
      `ports in use by another program: ${first} (Kafka), ${second} (gateway); stop it, or use other ports: npm start -- --port-base `,
    );
  } finally {
    for (const server of servers) server.close();
  }
});

test('a port that was looked at is free for its user', async () => {
  const [port = 0] = await findFreePorts(1);
  expect(port).toBeLessThanOrEqual(STABLE_PORT_MAX);
  expect(await isPortFree(port)).toBe(true);
  await requireFreePorts([{ port, program: 'anything' }]);
});

test('gives calls at the same time different ports', async () => {
  const given = await Promise.all(Array.from({ length: 60 }, () => findFreePorts(2)));
  expect(new Set(given.flat()).size).toBe(120);
});

test('gives each jest worker, and the process that starts them, ports of a range of its own', async () => {
  const worker = process.env['JEST_WORKER_ID'];
  const ranges: [number, number][] = [];
  for (const id of [undefined, '1', '2', '3', '4']) {
    if (id === undefined) delete process.env['JEST_WORKER_ID'];
    else process.env['JEST_WORKER_ID'] = id;
    const ports = await findFreePorts(20);
    ranges.push([Math.min(...ports), Math.max(...ports)]);
  }
  process.env['JEST_WORKER_ID'] = worker;
  ranges.sort(([one], [other]) => one - other);
  for (const [index, [first]] of ranges.entries()) expect(first).toBeGreaterThan(ranges[index - 1]?.[1] ?? 0);
});

test('the ports of systems that suites share are above those that tests and the systems of workers use', async () => {
  for (const place of [-1, -2]) expect(await findPortBase(place)).toBeGreaterThanOrEqual(30_000);
});
