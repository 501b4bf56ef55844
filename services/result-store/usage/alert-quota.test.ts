import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import type { Usage } from '#shared/contracts/usage/usage.ts';
import type { NewWebhook } from '#shared/contracts/webhooks/webhook.ts';
import { partially } from '../../../test/support/builders/partially.ts';
import type { Dependencies } from '../dependencies.ts';
import { makeAlertQuota } from './alert-quota.ts';

const usageOf = (monthTotal: number, asOf = '2026-11-21T10:00:00.000Z'): Usage => ({
  clientId: 'app_1',
  hour: '2026-11-21T10',
  month: '2026-11',
  monthTotal,
  monthOfWatches: 0,
  day: {},
  ofHour: {},
  asOf,
});

function makeAlerts({
  app = {},
  isBrokerAway = () => false,
}: {
  app?: Partial<ClientApp>;
  isBrokerAway?: () => boolean;
} = {}) {
  const published: NewWebhook[] = [];
  const alertQuota = makeAlertQuota(
    partially<Dependencies>({
      clientApps: {
        read: async () =>
          ({ clientId: 'app_1', accountId: 'a', alertUrl: 'https://example.com/hook', ...app }) as ClientApp,
      },
      accounts: { read: async () => ({ accountId: 'a', tier: 'free' }) as Account },
      kafka: {
        async publish(_, message) {
          if (isBrokerAway()) throw new Error('the broker is away');
          published.push(message as NewWebhook);
        },
      },
    }),
  );
  const told = () =>
    published.map(({ resultJson }) => JSON.parse(resultJson) as { threshold: number; used: number });
  return { alertQuota, published, told };
}

test('an app gets an alert at 80 % and at 100 %, once each', async () => {
  const { alertQuota, told } = makeAlerts();
  for (const total of [0, 7_999, 8_000, 8_001, 9_999, 10_000, 10_000]) await alertQuota(usageOf(total));
  expect(told()).toMatchObject([
    { threshold: 80, used: 8_000, quota: 10_000, month: '2026-11' },
    { threshold: 100, used: 10_000 },
  ]);
});

test('an alert that another process publishes again has the same id', async () => {
  const [one, other] = [makeAlerts(), makeAlerts()];
  await one.alertQuota(usageOf(8_000));
  await other.alertQuota(usageOf(8_500, '2026-11-21T11:00:00.000Z'));
  expect(other.published).toHaveLength(1);
  expect(other.published[0]?.requestId).toBe(one.published[0]?.requestId);
});

test('an alert that the broker did not take is tried again with the next total', async () => {
  let isAway = true;
  const { alertQuota, told } = makeAlerts({ isBrokerAway: () => isAway });
  await expect(alertQuota(usageOf(8_000))).rejects.toThrow('away');
  isAway = false;
  await alertQuota(usageOf(8_001));
  expect(told()).toMatchObject([{ threshold: 80, used: 8_001 }]);
});

test('no alert is sent to an app without an address, to a deleted app, or for a past month', async () => {
  for (const app of [{ alertUrl: undefined }, { deletedAt: '2026-11-21T00:00:00.000Z' }]) {
    const { alertQuota, told } = makeAlerts({ app: app as Partial<ClientApp> });
    await alertQuota(usageOf(10_000));
    expect(told()).toEqual([]);
  }
  const { alertQuota, told } = makeAlerts();
  await alertQuota(usageOf(10_000, '2026-12-02T00:00:00.000Z'));
  expect(told()).toEqual([]);
});
