import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import type { WebhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import type { DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { makeResendWebhooks } from './resend-webhooks.ts';

const NOW = Date.parse('2026-11-22T10:00:00.000Z');
const BODY_BYTES = 300;
const delivery = { requestId: 'r_1', clientId: 'app_1', resendCount: 0 } as DeliveryView;

function makeResends(storedBytes: number, failed: readonly string[] = []) {
  const published: WebhookRetry[] = [];
  const counted: number[] = [];
  const resends = makeResendWebhooks({
    clientApps: { read: async () => ({ accountId: 'acc_1' }) as ClientApp },
    deliveries: {
      read: async () => delivery,
      failedSince: async () => [...failed],
    },
    webhookBodies: { keep: async () => storedBytes },
    publish: async (message) => void published.push(message),
    countBytes: (clientId, bytes) => void counted.push(clientId === 'app_1' ? bytes : Number.NaN),
    now: () => NOW,
  });
  return { ...resends, published, counted };
}

test('a resend names the webhook and does not carry its body', async () => {
  const { resend, published } = makeResends(BODY_BYTES);
  await resend('r_1');
  expect(published).toMatchObject([{ requestId: 'r_1', accountId: 'acc_1', resendCount: 1 }]);
  expect(published[0]).not.toHaveProperty('resultJson');
});

test('the bytes of every body that a resend keeps longer count for its app', async () => {
  const { resend, resendFailed, counted } = makeResends(BODY_BYTES, ['r_1', 'r_2']);
  await resend('r_1');
  await resendFailed('app_1', 0);
  expect(counted).toEqual([BODY_BYTES, BODY_BYTES, BODY_BYTES]);
});

test('an account without room keeps no body longer', async () => {
  const { resend, resendFailed, counted } = makeResends(BODY_BYTES, ['r_1']);
  const requireRoom = () => Promise.reject(new Error('used up'));
  await expect(resend('r_1', { requireRoom })).rejects.toThrow('used up');
  await expect(resendFailed('app_1', 0, { requireRoom })).rejects.toThrow('used up');
  expect(counted).toEqual([]);
});

test('a webhook whose body is no longer stored is not sent again', async () => {
  const { resend, resendFailed, published } = makeResends(0, ['r_1']);
  await expect(resend('r_1')).rejects.toMatchObject({ code: 'not-found' });
  expect(await resendFailed('app_1', 0)).toEqual({ count: 0 });
  expect(published).toEqual([]);
});

describe('a resend of all failed webhooks', () => {
  const makeResendFailed = (failed: readonly string[]) => makeResends(BODY_BYTES, failed);

  it('charges their number before the first is sent', async () => {
    const { resendFailed, published } = makeResendFailed(['r_1', 'r_2']);
    const charged: number[][] = [];
    const charge = async (count: number) => void charged.push([count, published.length]);
    expect(await resendFailed('app_1', 0, { charge })).toEqual({ count: 2 });
    expect(charged).toEqual([[2, 0]]);
  });

  it('sends none if the charge is refused', async () => {
    const { resendFailed, published } = makeResendFailed(['r_1', 'r_2']);
    const charge = () => Promise.reject(new Error('refused'));
    await expect(resendFailed('app_1', 0, { charge })).rejects.toThrow('refused');
    expect(published).toEqual([]);
  });

  it('asks for room before each chunk, and leaves the others failed if there is none after some were sent', async () => {
    const { resendFailed, published } = makeResendFailed(Array.from({ length: 60 }, (_, i) => `r_${i}`));
    const requireRoom = async () => {
      if (published.length === 50) throw new Error('used up');
    };
    const { count } = await resendFailed('app_1', 0, { requireRoom });
    expect([count, published.length]).toEqual([50, 50]);
    await expect(resendFailed('app_1', 0, { requireRoom })).rejects.toThrow('used up');
    expect(published).toHaveLength(50);
  });

  it('charges nothing if none has failed', async () => {
    const charge = () => Promise.reject(new Error('refused'));
    expect(await makeResendFailed([]).resendFailed('app_1', 0, { charge })).toEqual({ count: 0 });
  });
});
