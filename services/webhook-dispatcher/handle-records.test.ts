import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';
import type { WebhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import { aCheckCompleted } from '../../test/support/builders/a-check-completed.ts';
import type { DeliverWebhook, NewBody } from './deliver-webhook.ts';
import { makeHandlers } from './handle-records.ts';

const record: RecordContext = {
  topic: 'check.completed.v1',
  partition: 0,
  offset: '1',
  key: 'r1',
  headers: {},
  traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`,
  timestampMs: 0,
  value: null,
  signal: new AbortController().signal,
  alive: () => undefined,
  park: () => undefined,
};

const aResult = (delivery: CheckCompleted['delivery']): CheckCompleted =>
  aCheckCompleted('app_1', {
    requestId: 'r1',
    accountId: 'acc_1',
    delivery,
    acceptedAt: '2026-11-21T10:00:00.000Z',
    retainUntil: '2026-11-24T10:00:00.000Z',
    resultJson: '{"mine":true}',
  });
const aWebhook = aResult({ mode: 'webhook', callbackUrl: 'https://hooks.example/' });

function setUp() {
  const delivered: { delivery: WebhookRetry; saving: NewBody | undefined }[] = [];
  const deliver: DeliverWebhook = async (delivery, _, saving) => void delivered.push({ delivery, saving });
  return { delivered, ...makeHandlers(deliver, deliver).results };
}

test('delivers a webhook together with the result to save first', async () => {
  const { delivered, handle } = setUp();
  await handle(aWebhook, record);
  expect(delivered).toEqual([
    {
      delivery: expect.objectContaining({
        requestId: 'r1',
        callbackUrl: 'https://hooks.example/',
        attemptCount: 0,
        resendCount: 0,
      }),
      saving: {
        requestId: 'r1',
        resultJson: '{"mine":true}',
        retainUntil: Date.parse('2026-11-24T10:00:00.000Z'),
      },
    },
  ]);
});

test('skips results of the other modes', async () => {
  const { delivered, handle } = setUp();
  await handle(aResult({ mode: 'poll' }), record);
  await handle(aResult({ mode: 'sync', replyChannel: 'c' }), record);
  expect(delivered).toEqual([]);
});

test('ends the delivery of a record that cannot be handled, and none for an unreadable record', async () => {
  const { delivered, giveUp } = setUp();
  const error = new Error('bug');
  await giveUp({ message: undefined, record, error });
  await giveUp({ message: aResult({ mode: 'poll' }), record, error });
  expect(delivered).toEqual([]);
  await giveUp({ message: aWebhook, record, error });
  expect(delivered).toMatchObject([{ delivery: { requestId: 'r1' }, saving: undefined }]);
});
