import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buildClientTemplate, type ClientTemplate } from '../systems/client-project.ts';
import { Pool } from './pool.ts';
import { startInfrastructure } from './start-infrastructure.ts';
import { startSharedSystem } from './start-shared-system.ts';

/** Two busy systems are as much as two cores carry beside the suites of the other workers. */
const SYSTEMS_MAX = 2;

/**
 * Lends the parts that suites share, each to one suite at a time. A part is started when it is
 * asked for and none is free, and ends when no suite will ask for it any more.
 *
 * - `GET /infrastructure/<worker id>`: where a broker, a Redis and a chain are;
 * - `GET /system/<worker id>`: where a whole system is;
 * - `DELETE` of the same: the suite of the worker has ended;
 * - `GET /client/<worker id>`: where a project with the client library is.
 *
 * @param borrowers how many suites of this run ask for each part
 */
export async function serveParts(borrowers: {
  readonly infrastructure: number;
  readonly system: number;
}): Promise<AsyncDisposable & { readonly url: string }> {
  const infrastructures = new Pool({
    start: startInfrastructure,
    sizeMax: borrowers.infrastructure,
    borrowersMax: borrowers.infrastructure,
  });
  const systems = new Pool({
    start: startSharedSystem,
    sizeMax: SYSTEMS_MAX,
    borrowersMax: borrowers.system,
  });
  let client: Promise<ClientTemplate> | undefined;
  const answer = async (method: string | undefined, url: string): Promise<unknown> => {
    const [, part, worker = ''] = url.split('/');
    if (method === 'DELETE') return (part === 'system' ? systems : infrastructures).return(worker);
    if (part === 'system') return (await systems.borrow(worker)).prepare();
    if (part === 'client') {
      client ??= buildClientTemplate();
      return client;
    }
    return infrastructures.borrow(worker);
  };
  const server = createServer(({ method, url = '' }, response) => {
    answer(method, url).then(
      (found) => response.end(JSON.stringify(found)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  // A start on a busy machine takes as long as it takes.
  server.requestTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await Promise.all([infrastructures, systems].map((each) => each[Symbol.asyncDispose]()));
      const template = await client?.catch(() => undefined);
      if (template) rmSync(template.folder, { recursive: true, force: true });
    },
  };
}
