import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Infrastructure } from '../infrastructure.ts';
import { startInfrastructure } from './start-infrastructure.ts';

/**
 * Serves `GET /<worker id>`: where the broker, the Redis and the chain of that jest worker are, started at its first
 * request. A worker runs one suite after the other, so no two suites share them at the same time.
 */
export async function serveInfrastructure(): Promise<AsyncDisposable & { readonly url: string }> {
  const byWorker = new Map<string, ReturnType<typeof startInfrastructure>>();
  const server = createServer(({ url: worker = '' }, response) => {
    const starting = byWorker.get(worker) ?? startInfrastructure();
    byWorker.set(worker, starting);
    starting.then(
      (running) => response.end(JSON.stringify(running satisfies Infrastructure)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      const started = await Promise.allSettled(byWorker.values());
      await Promise.all(
        started.map((one) => (one.status === 'fulfilled' ? one.value[Symbol.asyncDispose]() : undefined)),
      );
    },
  };
}
