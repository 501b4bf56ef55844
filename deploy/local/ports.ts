import { once } from 'node:events';
import { createServer } from 'node:net';

/** Above this, a client socket of the system may hold a port that nobody listens on. */
export const STABLE_PORT_MAX = 32_767;

/** Free ports for tests are looked for in this range, below every client socket's. */
const FREE_PORT_MIN = 22_000;
const FREE_PORT_TRIES_MAX = 200;

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
 * Checks ports before anything is started on them: what listens there would otherwise be taken for our own.
 *
 * @throws Error that names every port in use and what it was meant for.
 *
 * @example
 * await requireFreePorts([{ port: 8082, what: 'Kafka' }]);
 */
export async function requireFreePorts(wanted: readonly { port: number; what: string }[]): Promise<void> {
  const free = await Promise.all(wanted.map(({ port }) => isPortFree(port)));
  const taken = wanted.filter((_, index) => !free[index]);
  if (taken.length === 0) return;
  const list = taken.map(({ port, what }) => `${port} (${what})`).join(', ');
  throw new Error(`${taken.length === 1 ? 'port' : 'ports'} in use by another program: ${list}`);
}

/**
 * Distinct free ports below the range of client sockets. Another process may take one before it is used, so
 * this is for tests, each of which asks for its own.
 *
 * @throws Error if so many are not to be had.
 *
 * @example
 * const [kafka, controller] = await findFreePorts(2);
 */
export async function findFreePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  for (let tries = 0; found.size < count; tries++) {
    if (tries === FREE_PORT_TRIES_MAX) throw new Error(`no ${count} free ports below ${STABLE_PORT_MAX}`);
    const port = FREE_PORT_MIN + Math.floor(Math.random() * (STABLE_PORT_MAX - FREE_PORT_MIN));
    if (await isPortFree(port)) found.add(port);
  }
  return [...found];
}
