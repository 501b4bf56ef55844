import { randomUUID } from 'node:crypto';
import { clientApp } from '#shared/contracts/apps/client-app.ts';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { RECORD_OVERHEAD_BYTES } from '#shared/contracts/topic.ts';
import { usage } from '#shared/contracts/usage/usage.ts';
import { makeAccountBytes, startCountingBytes } from '#shared/fairness/account-bytes.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { makeUsageFigures } from '#shared/stores/usage/usage.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { aCheckCompleted } from '../../support/builders/a-check-completed.ts';
import { testConfig, testContext } from '../../support/infrastructure/connections.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { makeTestApp } from '../../support/systems/start-gateway.ts';

// Scenario: the bytes of an account's day are counted in a Redis database of this file, beside a
// real Kafka that keeps the published totals.

const MIB = 1024 * 1024;
const stores = testStores(10);
let accountId: string;

/** An app of the account of this test. */
async function anApp(
  limits: Parameters<typeof makeTestApp>[0] = {},
  scope: 'approved' | 'none' = 'approved',
) {
  const document = {
    ...makeTestApp({ tier: 'paid', requestsPerMonth: 1_000_000, ...limits }).document,
    accountId,
    scope,
  };
  await makeClientApps(stores.redis).project(document);
  return document;
}

async function count(clientId: string, bytes: number): Promise<void> {
  const counter = startCountingBytes(stores.redis, makeSilentLogger());
  counter.add(clientId, bytes);
  await counter[Symbol.asyncDispose]();
}

const read = (clientId: string) => makeAccountBytes(stores.redis).read(clientId);

beforeEach(async () => {
  accountId = `acc_${randomUUID()}`;
  await stores.redis.set(GENERATION_KEY, 'test');
});

test('the apps of an account have one sum, whose bound grows with its approved apps up to ten', async () => {
  const first = await anApp({ requestsPerMonth: 10_000 });
  expect(await read(first.clientId)).toMatchObject({ bytes: 0, bytesMax: 32 * MIB });
  const paid = await anApp();
  await anApp({}, 'none');
  expect((await read(paid.clientId)).bytesMax).toBe(Math.floor((2 * 1_000_000 * 8_192) / 30));
  for (let i = 0; i < 12; i++) await anApp();
  expect((await read(paid.clientId)).bytesMax).toBe(Math.floor((10 * 1_000_000 * 8_192) / 30));
  await count(first.clientId, 1_000);
  await count(paid.clientId, 500);
  expect((await read(first.clientId)).bytes).toBe(1_500);
});

test('a write is refused until midnight once the sum has reached its bound', async () => {
  const { clientId } = await anApp({ requestsPerMonth: 1_000 });
  const { requireRoom } = makeAccountBytes(stores.redis);
  await count(clientId, 32 * MIB - 1);
  await requireRoom(clientId);
  await count(clientId, 1);
  const error = await requireRoom(clientId).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'bytes-exceeded', retryAfterMs: expect.any(Number) });
});

test('every record that an app causes is counted with its key, its value and what it takes beside them', async () => {
  const counted: [string, number][] = [];
  const countBytes = (clientId: string, bytes: number) => void counted.push([clientId, bytes]);
  await using kafka = await connectKafka(testConfig(10), 'test', testContext(), { countBytes });
  const message = aCheckCompleted('app_counted', {});
  await kafka.publish(checkCompleted, message);
  await kafka.publish(checkCompleted, message, { isCounted: true });
  const bytes = message.requestId.length + Buffer.byteLength(JSON.stringify(message)) + RECORD_OVERHEAD_BYTES;
  expect(counted).toEqual([['app_counted', bytes]]);
});

test('the sum of the day survives a loss of Redis, and a repeated restoration adds nothing', async () => {
  const apps = [await anApp(), await anApp()];
  for (const app of apps) await stores.kafka.publish(clientApp, app);
  await count(apps[0]?.clientId ?? '', 40_000);
  await count(apps[1]?.clientId ?? '', 2_000);
  const figures = makeUsageFigures(stores.redis);
  for (const appHour of await figures.listRecent(Date.now()))
    if (apps.some(({ clientId }) => clientId === appHour.clientId))
      await stores.kafka.publish(usage, await figures.read(appHour));
  await stores.redis.flushdb();
  await stores.replay();
  expect(await read(apps[0]?.clientId ?? '')).toMatchObject({ bytes: 42_000 });
  await stores.redis.del(GENERATION_KEY);
  await stores.replay();
  expect(await read(apps[1]?.clientId ?? '')).toMatchObject({ bytes: 42_000 });
});
