import { randomUUID } from 'node:crypto';
import { type WebhookAttempted, webhookAttempted } from '#shared/contracts/webhooks/webhook.ts';
import { makeReadRecords } from '../../../services/developer-portal/features/read-records.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';

// Scenario: the log of attempts in a real Kafka holds what receivers answered, among the records of
// others.

const stores = testStores(10);

test('what a receiver answered to one attempt is found in the log of attempts, and only for its own app', async () => {
  const requestId = randomUUID();
  const at = new Date().toISOString();
  const attempted = (over: Partial<WebhookAttempted>): WebhookAttempted =>
    ({
      ...{ requestId, clientId: 'app_1', accountId: 'acc_1', resendCount: 0, at, state: 'pending' },
      ...{
        class: 'http-5xx',
        durationMs: 12.5,
        callbackUrl: 'https://a.example/',
        acceptedAt: at,
        retainUntil: at,
      },
      ...(over as object),
    }) as WebhookAttempted;
  await stores.kafka.publish(
    webhookAttempted,
    attempted({ requestId: randomUUID(), attempt: 1, responseBody: 'x' }),
  );
  await stores.kafka.publish(webhookAttempted, attempted({ attempt: 1, responseBody: 'first' }));
  await stores.kafka.publish(webhookAttempted, attempted({ attempt: 2, responseBody: 'second' }));
  await stores.kafka.publish(webhookAttempted, attempted({ attempt: 3 }));
  const { readReceiverAnswer } = makeReadRecords(stores.kafka);
  const answerOf = (attempt: number, clientId = 'app_1') =>
    readReceiverAnswer({ requestId, clientId }, { attempt, resendCount: 0, at, durationMs: 12.5 }, 'acc_1');
  expect([await answerOf(1), await answerOf(2), await answerOf(3), await answerOf(4)]).toEqual([
    'first',
    'second',
    undefined,
    undefined,
  ]);
  expect(await answerOf(1, 'app_2')).toBeUndefined();
});
