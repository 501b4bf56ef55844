import { webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import type { SpawnedProcess } from '../../support/systems/spawn-process.ts';
import {
  makeTestApp,
  type RunningGateway,
  startGateway,
  type TestApp,
} from '../../support/systems/start-gateway.ts';
import {
  startWebhookFixture,
  untilReady,
  type WebhookFixture,
} from '../../support/systems/webhook-fixture.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: a real gateway and a real dispatcher on one Kafka and one Redis. Webhooks are stopped by
// their receiver on loopback; their client app finds them by the API and sends them again.

const PATH = '/access-control/deliveries';
let fixture: WebhookFixture;
let receiver: WebhookReceiver;
let dispatcher: SpawnedProcess;
let gateway: RunningGateway;
let app: TestApp;
let stranger: TestApp;

beforeAll(async () => {
  fixture = await startWebhookFixture(7);
  receiver = await receiveWebhooks({ secret: fixture.secret });
  dispatcher = fixture.startDispatcher();
  await untilReady(dispatcher);
  gateway = await startGateway(fixture.config);
  const { webhookSecrets } = fixture.app();
  const { apiKey, document } = makeTestApp();
  // The fixture's app, with a key.
  app = { apiKey, document: { ...document, clientId: fixture.clientId, version: 2, webhookSecrets } };
  stranger = makeTestApp();
  for (const { document } of [app, stranger]) await makeClientApps(fixture.redis).project(document);
});
afterAll(async () => {
  for (const part of [gateway, dispatcher, receiver, fixture]) await part?.[Symbol.asyncDispose]();
});

const read = async (path: string, by = app) => {
  const answer = await gateway.get(by, PATH + path);
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};
const listed = async (query: string, by = app) =>
  ((await read(query, by)).body['deliveries'] as { webhookId: string }[]).map(({ webhookId }) => webhookId);
const countOf = (requestId: string) =>
  receiver.deliveries.filter((webhook) => webhook.requestId === requestId).length;

/** A webhook that its receiver has stopped by a 410. */
async function aStoppedWebhook(): Promise<string> {
  receiver.setAnswer(410);
  const check = fixture.aWebhookCheck(receiver.url);
  await fixture.kafka.publish(webhookRequested, check);
  await waitUntil('the delivery to be stopped', async () => {
    const { body } = await read(`/msg_${check.requestId}`);
    return body['state'] === 'stopped';
  });
  return check.requestId;
}

const untilDelivered = (requestId: string) =>
  waitUntil('the delivery', async () => (await read(`/msg_${requestId}`)).body['state'] === 'delivered');

test('a failed webhook is listed, shown with its attempts, and sent again with the same bytes and id', async () => {
  const requestId = await aStoppedWebhook();
  const webhookId = `msg_${requestId}`;
  expect((await read('?state=stopped&limit=1')).body).toEqual({
    deliveries: [
      {
        webhookId,
        type: 'check.completed',
        requestId,
        state: 'stopped',
        attempts: 1,
        lastAttempt: { at: expect.any(String), status: 410, class: 'gone' },
      },
    ],
    next: webhookId,
  });
  expect(await listed(`?after=${webhookId}`)).toEqual([]);
  expect((await read(`/${webhookId}`)).body['attempts']).toEqual([
    { attempt: 1, at: expect.any(String), status: 410, class: 'gone', durationMs: expect.any(Number) },
  ]);

  receiver.setAnswer(204);
  expect((await gateway.send(app, 'POST', `${PATH}/${webhookId}/resend`)).status).toBe(202);
  await untilDelivered(requestId);
  const [first, second] = receiver.deliveries.filter((webhook) => webhook.requestId === requestId);
  expect([second?.id, second?.body, second?.verified]).toEqual([webhookId, first?.body, true]);
  expect((await read(`/${webhookId}`)).body['attempts']).toMatchObject([
    { attempt: 1, status: 410 },
    { attempt: 1, status: 204, class: 'delivered' },
  ]);
});

test('another client app neither sees nor sends a webhook again', async () => {
  const requestId = await aStoppedWebhook();
  receiver.setAnswer(204);
  const { status, body } = await read(`/msg_${requestId}`, stranger);
  expect([status, body['code']]).toEqual([404, 'delivery-not-found']);
  expect(await listed('', stranger)).toEqual([]);
  expect((await gateway.send(stranger, 'POST', `${PATH}/msg_${requestId}/resend`)).status).toBe(404);
  const since = new Date(0).toISOString();
  const answer = await gateway.send(stranger, 'POST', `${PATH}/resend-failed`, { since });
  expect([answer.status, await answer.json()]).toEqual([202, { count: 0 }]);
  expect([countOf(requestId), (await read(`/msg_${requestId}`)).body['state']]).toEqual([1, 'stopped']);
});

test('all webhooks that failed since an instant are sent again, and no other', async () => {
  const before = await aStoppedWebhook();
  const { attempts } = (await read(`/msg_${before}`)).body as { attempts: [{ at: string }] };
  const since = new Date(Date.parse(attempts[0].at) + 1).toISOString();
  const after = [await aStoppedWebhook(), await aStoppedWebhook()];
  receiver.setAnswer(204);
  const answer = await gateway.send(app, 'POST', `${PATH}/resend-failed`, { since });
  expect([answer.status, await answer.json()]).toEqual([202, { count: 2 }]);
  for (const requestId of after) await untilDelivered(requestId);
  expect([countOf(before), ...after.map(countOf)]).toEqual([1, 2, 2]);
});
