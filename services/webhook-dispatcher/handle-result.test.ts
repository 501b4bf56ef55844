import type { CheckCompleted } from '#shared/contracts/check-completed.ts';
import type { WebhookRetry } from '#shared/contracts/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import type { RecordAt } from '#shared/kafka/work-record.ts';
import { makeResultGiveUp, makeResultHandler } from './handle-result.ts';

const record: RecordAt = {
  topic: 'check.completed.v1',
  partition: 0,
  offset: '1',
  key: 'r1',
  headers: {},
  traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`,
  timestampMs: 0,
  value: null,
  signal: new AbortController().signal,
  park: () => undefined,
};

const aResult = (delivery: CheckCompleted['delivery']): CheckCompleted => ({
  requestId: 'r1',
  clientId: 'app_1',
  delivery,
  acceptedAt: '2026-11-21T10:00:00.000Z',
  retainUntil: '2026-11-24T10:00:00.000Z',
  decided: true,
  resultJson: '{"mine":true}',
});
const aWebhook = aResult({ mode: 'webhook', callbackUrl: 'https://hooks.example/' });

function setUp(saveIfAbsent: () => Promise<string>) {
  const delivered: WebhookRetry[] = [];
  const deliver = async (delivery: WebhookRetry) => void delivered.push(delivery);
  return { delivered, deliver, handle: makeResultHandler({ results: { saveIfAbsent }, deliver }) };
}

test('what is delivered are the stored bytes, not those of the record', async () => {
  const { delivered, handle } = setUp(async () => '{"first":true}');
  await handle(aWebhook, record);
  expect(delivered).toEqual([
    expect.objectContaining({
      requestId: 'r1',
      resultJson: '{"first":true}',
      callbackUrl: 'https://hooks.example/',
      attemptCount: 0,
      chain: 0,
    }),
  ]);
});

test('nothing is delivered before the result is stored', async () => {
  const { delivered, handle } = setUp(() => Promise.reject(new ServiceError('store-unavailable', 'away')));
  await expect(handle(aWebhook, record)).rejects.toMatchObject({ code: 'store-unavailable' });
  expect(delivered).toEqual([]);
});

test('results of the other modes pass', async () => {
  const { delivered, handle } = setUp(async () => '{}');
  await handle(aResult({ mode: 'poll' }), record);
  await handle(aResult({ mode: 'sync', replyChannel: 'c' }), record);
  expect(delivered).toEqual([]);
});

test('a record that cannot be worked ends its delivery, and one that cannot be read ends none', async () => {
  const { delivered, deliver } = setUp(async () => '{}');
  const giveUp = makeResultGiveUp(deliver);
  const error = new Error('bug');
  await giveUp({ message: undefined, record, error });
  await giveUp({ message: aResult({ mode: 'poll' }), record, error });
  expect(delivered).toEqual([]);
  await giveUp({ message: aWebhook, record, error });
  expect(delivered).toEqual([expect.objectContaining({ requestId: 'r1' })]);
});
