import type { BatchStatus } from '#shared/contracts/batch-status.ts';
import type { ClientApp } from '#shared/contracts/client-app.ts';
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
const clientApps = { read: async () => ({ accountId: 'acc_1' }) as ClientApp };
const delivery = { requestId: 'batch_1', clientId: 'app_1', resendCount: 0 } as DeliveryView;

function makeResend(found: BatchStatus | undefined) {
  const published: WebhookRetry[] = [];
  const { resend } = makeResendWebhooks({
    clientApps,
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
  expect(published).toMatchObject([{ requestId: 'batch_1', accountId: 'acc_1', resendCount: 1 }]);
  expect(JSON.parse(published[0]?.resultJson ?? '')).toEqual({ type: 'batch.completed', ...status });
});

test.each([
  ['is not finished', { ...status, status: 'pending' as const }],
  ['has expired', undefined],
])('the webhook of a batch that %s is not sent again', async (_, found) => {
  const { resend } = makeResend(found);
  await expect(resend('batch_1')).rejects.toMatchObject({ code: 'not-found' });
});

describe('a resend of all failed webhooks', () => {
  const makeResendFailed = (failed: readonly string[]) => {
    const published: WebhookRetry[] = [];
    const { resendFailed } = makeResendWebhooks({
      clientApps,
      deliveries: { read: async () => delivery, failedSince: async () => [...failed] },
      results: { read: async () => undefined },
      batches: { readStatus: async () => status },
      publish: async (message) => void published.push(message),
      now: () => NOW,
    });
    return { resendFailed, published };
  };

  it('charges their number before the first is sent', async () => {
    const { resendFailed, published } = makeResendFailed(['batch_1', 'batch_2']);
    const charged: number[][] = [];
    const charge = async (count: number) => void charged.push([count, published.length]);
    expect(await resendFailed('app_1', 0, { charge })).toEqual({ count: 2 });
    expect(charged).toEqual([[2, 0]]);
  });

  it('sends none if the charge is refused', async () => {
    const { resendFailed, published } = makeResendFailed(['batch_1', 'batch_2']);
    const charge = () => Promise.reject(new Error('refused'));
    await expect(resendFailed('app_1', 0, { charge })).rejects.toThrow('refused');
    expect(published).toEqual([]);
  });

  it('charges the bytes of each chunk, and leaves the others failed if the budget ends after some were sent', async () => {
    const { resendFailed, published } = makeResendFailed(Array.from({ length: 60 }, (_, i) => `batch_${i}`));
    const charged: number[] = [];
    const chargeBytes = async (bytes: number) => {
      if (charged.length === 2) throw new Error('used up');
      charged.push(bytes);
    };
    const { count } = await resendFailed('app_1', 0, { chargeBytes });
    expect([count, published.length]).toEqual([50, 50]);
    expect(charged[0]).toBe(25 * Buffer.byteLength(published[0]?.resultJson ?? ''));
    await expect(resendFailed('app_1', 0, { chargeBytes })).rejects.toThrow('used up');
    expect(published).toHaveLength(50);
  });

  it('charges nothing if none has failed', async () => {
    const charge = () => Promise.reject(new Error('refused'));
    expect(await makeResendFailed([]).resendFailed('app_1', 0, { charge })).toEqual({ count: 0 });
  });
});
