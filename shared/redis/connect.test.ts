import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { HealthChecks } from '#shared/http/ops-server.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { makeRegistry } from '#shared/telemetry/metrics.ts';
import { COMMAND_TIMEOUT_MS, connectRedis, inStore, LISTING_TIMEOUT_MS } from './connect.ts';

const SLOW_MS = 2.5 * COMMAND_TIMEOUT_MS;

/** A primary that answers `GET` slowly, and everything else at once. */
async function startSlowRedis(scope: AsyncDisposableStack): Promise<string> {
  const server = createServer((socket) => {
    socket.on('data', (data) => {
      for (const [, name = ''] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
        const answer = () =>
          socket.write(name.toLowerCase() === 'info' ? '$11\r\nrole:master\r\n' : '+OK\r\n');
        if (name.toLowerCase() === 'get') setTimeout(answer, SLOW_MS);
        else answer();
      }
    });
  });
  server.listen(0, '127.0.0.1');
  scope.defer(() => void server.close());
  await once(server, 'listening');
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('one command of a listing may take as long as the listing, any other command may not', async () => {
  await using scope = new AsyncDisposableStack();
  const url = await startSlowRedis(scope);
  const context = {
    log: makeSilentLogger(),
    metrics: makeRegistry('test'),
    readiness: new HealthChecks(),
    stopping: new AbortController().signal,
  };
  const { redis } = scope.use(await connectRedis({ url, dependencyWaitMs: 5_000 }, context));
  const listing = inStore(() => redis.get('key'), LISTING_TIMEOUT_MS);
  await expect(inStore(() => redis.get('key'))).rejects.toMatchObject({ code: 'store-unavailable' });
  expect(await listing).toBe('OK');
});
