import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Infrastructure } from '../infrastructure/infrastructure.ts';
import type { SystemFacts } from '../systems/running-system.ts';
import { PerWorker } from './per-worker.ts';
import { startInfrastructure } from './start-infrastructure.ts';
import { startSharedSystem } from './start-shared-system.ts';

/**
 * Serves the parts that the suites of one jest worker share. A worker runs one suite after the
 * other, so no two suites use them at the same time. Each is started at its first request:
 *
 * - `GET /infrastructure/<worker id>`: where its broker, its Redis and its chain are;
 * - `GET /system/<worker id>`: where its whole system is. It ends when the worker turns to the
 *   integration suites, which run after all that use it.
 */
export async function serveParts(): Promise<AsyncDisposable & { readonly url: string }> {
  const infrastructures = new PerWorker(startInfrastructure);
  const systems = new PerWorker(startSharedSystem);
  const find = async (url: string): Promise<Infrastructure | SystemFacts> => {
    const [, part, worker = ''] = url.split('/');
    if (part === 'system') return (await systems.of(worker)).lend();
    systems.end(worker);
    return infrastructures.of(worker);
  };
  const server = createServer(({ url = '' }, response) => {
    find(url).then(
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
    },
  };
}
