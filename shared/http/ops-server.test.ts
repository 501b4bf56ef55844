import { makeRegistry } from '#shared/telemetry/metrics.ts';
import { spawnNode } from '../../test/support/systems/spawn-process.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { HealthChecks, startOpsServer } from './ops-server.ts';

async function start() {
  const readiness = new HealthChecks();
  const liveness = new HealthChecks();
  const server = await startOpsServer({
    host: '127.0.0.1',
    port: 0,
    readiness,
    liveness,
    metrics: makeRegistry('test'),
  });
  const ask = (path: string) => fetch(`http://127.0.0.1:${server.port}${path}`);
  return { readiness, liveness, ask, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test('a process is live while no check of it finds a fault, and names the fault', async () => {
  await using ops = await start();
  let state: true | string = true;
  ops.liveness.add('consumer', () => state);
  expect((await ops.ask('/livez')).status).toBe(200);
  state = 'it stalls';
  const answer = await ops.ask('/livez');
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({ live: false, faults: { consumer: 'it stalls' } });
});

test('a dependency that is away makes the process not ready, and leaves it live', async () => {
  await using ops = await start();
  ops.readiness.add('redis', () => 'Redis is away');
  const ready = await ops.ask('/readyz');
  expect(ready.status).toBe(503);
  expect(await ready.json()).toEqual({ ready: false, checks: { redis: 'Redis is away' } });
  expect((await ops.ask('/livez')).status).toBe(200);
});

test('an event loop that is stuck gives a probe no answer', async () => {
  await using process = spawnNode([
    '--input-type=module',
    '-e',
    `import { startOpsServer, HealthChecks } from '#shared/http/ops-server.ts';
          import { makeRegistry } from '#shared/telemetry/metrics.ts';
     const { port } = await startOpsServer({ host: '127.0.0.1', port: 0, readiness: new HealthChecks(),
       liveness: new HealthChecks(), metrics: makeRegistry('test') });
     console.log(port);
     process.on('SIGUSR2', () => { for (;;); });`,
  ]);
  const port = await waitUntil('the port', () => /^(\d+)\n/.exec(process.stdout())?.[1]);
  const probe = (init?: RequestInit) => fetch(`http://127.0.0.1:${port}/livez`, init);
  expect((await probe()).status).toBe(200);
  process.child.kill('SIGUSR2');
  await waitUntil('a probe without an answer', () =>
    probe({ signal: AbortSignal.timeout(1_000) }).then(
      () => false,
      () => true,
    ),
  );
});
