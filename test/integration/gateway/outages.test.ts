import { connectRedis } from '#shared/redis/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { testConfig, testContext } from '../../support/infrastructure/connections.ts';
import { startDedicatedRedis } from '../../support/infrastructure/dedicated-infrastructure.ts';
import { A_LOCAL_CHECK, makeTestApp, startGateway } from '../../support/systems/start-gateway.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: a gateway whose own Redis freezes, dies and comes back.
// The gateway accepts nothing without Redis, answers every request, and needs no restart.

const A_POLL_CHECK = { ...A_LOCAL_CHECK, async: true };

it('answers 503 while Redis is frozen or dead, and recovers by itself when it is back', async () => {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startDedicatedRedis());
  const config = { ...testConfig(0), redis: { url: redis.url } };
  const store = stack.use(await connectRedis({ ...config, ...config.redis }, testContext()));
  await store.redis.set(GENERATION_KEY, 'test');
  const [known, fresh] = [makeTestApp(), makeTestApp()];
  for (const { document } of [known, fresh]) await makeClientApps(store.redis).project(document);
  const gateway = stack.use(await startGateway(config));
  expect((await gateway.post(known, A_POLL_CHECK)).status).toBe(202);

  const expectUnavailable = async (response: Response) => {
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.get('ratelimit')).toBeNull();
    expect(await response.json()).toMatchObject({ code: 'dependency-unavailable' });
  };
  const expectAway = async () => {
    // One key in the gateway's cache, and another key.
    for (const app of [known, fresh]) {
      await expectUnavailable(await gateway.post(app, A_POLL_CHECK));
      await expectUnavailable(await gateway.post(app, { not: 'a check' }));
      await expectUnavailable(await gateway.get(app, '/access-control/chains'));
    }
  };
  const expectBack = () =>
    waitUntil(
      'the gateway to accept again',
      async () => (await gateway.post(known, A_POLL_CHECK)).status === 202,
    );

  await redis.freeze();
  await expectAway();
  await redis.thaw();
  await expectBack();

  await redis.kill();
  await waitUntil('Redis to be gone', async () => (await gateway.post(known, A_POLL_CHECK)).status === 503);
  await expectAway();
  await redis.revive();
  await waitUntil('Redis', () => store.redis.ping().catch(() => undefined));
  // As the result-store does once it has read the records that this run of the server may lack.
  await store.redis.set(GENERATION_KEY, 'test');
  await expectBack();
});
