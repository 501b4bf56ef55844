import { randomUUID } from 'node:crypto';
import { webhookRequested, webhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import { readTopicOffsets } from '#shared/kafka/topic-offsets.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import {
  startWebhookFixture,
  untilReady,
  type WebhookFixture,
} from '../../support/systems/webhook-fixture.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: a real dispatcher has one client app with 300 callback origins that never answer.
// Meanwhile the first deliveries of another client app, to receivers without a history, go out, and
// none of them is deferred.

const HANGING = 300;
/** An app alone holds at most a quarter of the 512 slots. */
const SHARE = 128;
const FIRST_DELIVERIES = 30;

let fixture: WebhookFixture;

beforeAll(async () => {
  fixture = await startWebhookFixture(15);
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** Every address of 127.0.0.0/8 is an origin of its own at a server that listens on all of them. */
const originOf = (url: string, network: number, host: number): string =>
  url.replace('0.0.0.0', `127.0.${network}.${host}`);

async function deferredCount(): Promise<number> {
  const offsets = await readTopicOffsets(fixture.kafka.admin, webhookRetry['5s'].name);
  return [...offsets.values()].reduce((sum, { high }) => sum + high, 0);
}

test("another client app's first deliveries go out while all receivers of one hang", async () => {
  await using hanging = await receiveWebhooks({ host: '0.0.0.0', answer: () => undefined });
  await using receiver = await receiveWebhooks({ host: '0.0.0.0', secret: fixture.secret });
  // So long that no attempt ends during the test: messages go out only through the slots that are
  // left.
  await using dispatcher = fixture.startDispatcher({
    WEBHOOK_ATTEMPT_TIMEOUT_MS: '60000',
    WEBHOOK_SCHEDULE_SCALE: '1',
  });
  await untilReady(dispatcher);
  const other = `app_${randomUUID()}`;
  await fixture.addApp(other);

  const greedy = Array.from({ length: HANGING }, (_, i) =>
    fixture.aWebhookCheck(originOf(hanging.url, Math.floor(i / 100) + 1, (i % 100) + 1)),
  );
  await Promise.all(greedy.map((check) => fixture.kafka.publish(webhookRequested, check)));
  await waitUntil(
    'its messages to hang or to be deferred',
    // A message that came back and was deferred again counts again.
    async () => hanging.deliveries.length + (await deferredCount()) >= HANGING,
  );

  const checks = Array.from({ length: FIRST_DELIVERIES }, (_, i) => ({
    ...fixture.aWebhookCheck(originOf(receiver.url, 9, i + 1)),
    clientId: other,
  }));
  await Promise.all(checks.map((check) => fixture.kafka.publish(webhookRequested, check)));
  await waitUntil('the first deliveries', () => receiver.deliveries.length === FIRST_DELIVERIES);

  const delivered = new Set(receiver.deliveries.map(({ requestId }) => requestId));
  expect(delivered).toEqual(new Set(checks.map(({ requestId }) => requestId)));
  expect(receiver.deliveries.every(({ attempt, verified }) => attempt === 1 && verified === true)).toBe(true);
  for (const { requestId } of checks)
    await waitUntil('the delivered state', async () => {
      return (await fixture.deliveries.read(requestId))?.state === 'delivered';
    });
  // Deferred messages may have come back by now, but no more of them got a slot than an app alone
  // may have.
  expect(hanging.deliveries.length).toBeLessThanOrEqual(SHARE);
});
