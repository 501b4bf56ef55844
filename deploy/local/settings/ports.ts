import { once } from 'node:events';
import { createServer } from 'node:net';

/** Above this, a client socket of the system may hold a port on which no process listens. */
export const STABLE_PORT_MAX = 32_767;

/** Tests use free ports from here to 24 999: below the range of client sockets and the ports of
 * whole systems. */
const FREE_PORT_MIN = 22_000;
/** Each jest worker, and the process that starts them, has its own range, so that no two choose the
 * same port. */
const PORTS_PER_WORKER = 600;
/** Workers count from 1; the process that starts them is 0. */
const RANGES = 5;
const FREE_PORT_TRIES_MAX = 200;
/** An example: it is far from the ports that other programs have by default. */
const OTHER_PORT_BASE = 18_080;
/** Ports that this process was given: two calls at once could see the same port free. */
const givenPorts = new Set<number>();

/** Whether this process could listen on the port now. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host: '127.0.0.1', exclusive: true });
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return true;
  } catch {
    return false;
  }
}

/**
 * Checks ports before anything is started on them: a foreign listener would otherwise be taken for
 * our own.
 *
 * @throws Error that names every port in use and its purpose, and the option that chooses others.
 *
 * @example
 * await requireFreePorts([{ port: 8082, program: 'Kafka' }]);
 */
export async function requireFreePorts(wanted: readonly { port: number; program: string }[]): Promise<void> {
  const free = await Promise.all(wanted.map(({ port }) => isPortFree(port)));
  const taken = wanted.filter((_, index) => !free[index]);
  if (taken.length === 0) return;
  const list = taken.map(({ port, program }) => `${port} (${program})`).join(', ');
  throw new Error(
    `${taken.length === 1 ? 'port' : 'ports'} in use by another program: ${list}; stop it, or use other ports: npm start -- --port-base ${OTHER_PORT_BASE}`,
  );
}

/**
 * Distinct free ports below the range of client sockets, each given once per process. Another
 * process may take one before it is used, so this is for tests.
 *
 * @throws Error if there are fewer.
 *
 * @example
 * const [kafka, controller] = await findFreePorts(2);
 */
export async function findFreePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  const worker = Number(process.env['JEST_WORKER_ID'] ?? 0) % RANGES;
  const portMin = FREE_PORT_MIN + worker * PORTS_PER_WORKER;
  for (let tries = 0; found.size < count; tries++) {
    if (tries === FREE_PORT_TRIES_MAX)
      throw new Error(`no ${count} free ports from ${portMin} to ${portMin + PORTS_PER_WORKER - 1}`);
    const port = portMin + Math.floor(Math.random() * PORTS_PER_WORKER);
    if (givenPorts.has(port)) continue;
    givenPorts.add(port);
    if (await isPortFree(port)) found.add(port);
  }
  return [...found];
}
