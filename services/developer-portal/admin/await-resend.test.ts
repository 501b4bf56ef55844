import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import type { WebhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import type { DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { makeResendWebhooks } from '#shared/stores/webhooks/resend-webhooks.ts';
import { makeAwaitResend } from './await-resend.ts';

const CLAIMED_AFTER_MS = 30;

/** Resends of an admin command; a dispatcher claims a resend some time after it is published, or
 * never. */
function makeResends({ isClaimed = true, failed = [] as string[] } = {}) {
  const counts = new Map<string, number>();
  const published: [string, number][] = [];
  const read = async (requestId: string) =>
    ({ requestId, clientId: 'app_1', resendCount: counts.get(requestId) ?? 0 }) as DeliveryView;
  const awaitResend = makeAwaitResend({ read }, { waitMs: isClaimed ? 120_000 : 20, pollMs: 5 });
  const resends = makeResendWebhooks({
    clientApps: { read: async () => ({ accountId: 'acc_1' }) as ClientApp },
    deliveries: { read, failedSince: async () => failed },
    webhookBodies: { keep: async () => 1 },
    countBytes: () => undefined,
    async publish(message: WebhookRetry) {
      const { requestId, resendCount } = message;
      published.push([requestId, resendCount]);
      if (isClaimed) setTimeout(() => counts.set(requestId, resendCount), CLAIMED_AFTER_MS);
      await awaitResend(message);
    },
    now: () => 0,
  });
  return { resends, published, counts };
}

test('a second resend after the first has returned has the next number', async () => {
  const { resends, published, counts } = makeResends();
  await resends.resend('batch_1');
  expect(counts.get('batch_1')).toBe(1);
  await resends.resend('batch_1');
  expect(published).toEqual([
    ['batch_1', 1],
    ['batch_1', 2],
  ]);
});

test('a resend of all failed webhooks returns once the view shows each of them', async () => {
  const failed = Array.from({ length: 450 }, (_, index) => `batch_${index}`);
  const { resends, counts } = makeResends({ failed });
  expect(await resends.resendFailed('app_1', 0)).toEqual({ count: failed.length });
  expect([...counts.keys()].sort()).toEqual([...failed].sort());
});

test('without a dispatcher a resend fails, and the error says that it is still sent', async () => {
  const { resends, published } = makeResends({ isClaimed: false });
  await expect(resends.resend('batch_1')).rejects.toMatchObject({
    code: 'overloaded',
    message: expect.stringContaining('is published'),
  });
  expect(published).toHaveLength(1);
});
