import { once } from 'node:events';
import { createServer } from 'node:net';
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
