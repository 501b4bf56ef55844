import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// A child process of the webhook benchmark: receivers on separate ports, of which some never
// answer. It reports arrivals to the parent in batches: the id and the time, epoch ms with
// fractions.

const [healthyCount = 1, hangingCount = 0] = process.argv.slice(2).map(Number);
const TELL_INTERVAL_MS = 20;

let arrived: [id: string, atMs: number][] = [];
const tell = () => {
  if (arrived.length > 0) process.send?.({ arrived });
  arrived = [];
};
setInterval(tell, TELL_INTERVAL_MS);

const listen = async (isHealthy: boolean): Promise<number> => {
  const server = createServer((request, response) => {
    if (isHealthy)
      arrived.push([String(request.headers['webhook-id']), performance.timeOrigin + performance.now()]);
    request.resume();
    request.on('end', () => isHealthy && response.writeHead(204).end());
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

const listenMany = (count: number, isHealthy: boolean) =>
  Promise.all(Array.from({ length: count }, () => listen(isHealthy)));

process.send?.({
  healthy: await listenMany(healthyCount, true),
  hanging: await listenMany(hangingCount, false),
});
// The receivers exit with the benchmark, however that ends.
process.on('disconnect', () => process.exit());
