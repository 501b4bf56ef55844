import type { BatchStatus } from '#shared/contracts/batch-status.ts';
import type { WebhookRetry } from '#shared/contracts/webhook.ts';
import type { DeliveryView } from '#shared/redis/delivery-view.ts';
import { makeResendWebhooks } from './resend-webhooks.ts';

const NOW = Date.parse('2026-11-22T10:00:00.000Z');
const status: BatchStatus = {
  requestId: 'batch_1',
  status: 'completed',
  entries: 2,
  done: 2,
  roles: [{ id: 'r', granted: 1, denied: 1, undetermined: 0 }],
  acceptedAt: '2026-11-22T09:00:00.000Z',
  completedAt: '2026-11-22T09:00:01.000Z',
};
const delivery = { requestId: 'batch_1', clientId: 'app_1', resendCount: 0 } as DeliveryView;

function makeResend(found: BatchStatus | undefined) {
  const published: WebhookRetry[] = [];
  const { resend } = makeResendWebhooks({
    deliveries: { read: async () => delivery, failedSince: async () => [] },
    results: { read: async () => undefined },
    batches: { readStatus: async () => found },
    publish: async (message) => void published.push(message),
    now: () => NOW,
  });
  return { resend, published };
}

test('the webhook of a finished batch is sent again with the bytes of its status', async () => {
  const { resend, published } = makeResend(status);
  await resend('batch_1');
  expect(published).toMatchObject([{ requestId: 'batch_1', resendCount: 1 }]);
  expect(JSON.parse(published[0]?.resultJson ?? '')).toEqual({ type: 'batch.completed', ...status });
});

test.each([
  ['is not finished', { ...status, status: 'pending' as const }],
  ['has expired', undefined],
])('the webhook of a batch that %s is not sent again', async (_, found) => {
  const { resend } = makeResend(found);
  await expect(resend('batch_1')).rejects.toMatchObject({ code: 'not-found' });
});
