import { aWatch } from '../../../test/support/builders/a-watch.ts';
import { makeChargeChecks } from './charge-checks.ts';

test('a watch whose sent events exceed the quota is charged the rest of it, and paused with the reason; so is one without bytes', async () => {
  const charges: object[] = [];
  const paused: string[] = [];
  const outcomes = ['charged', 'quota-exceeded', 'quota-share-exceeded', 'bytes-per-day'] as const;
  const chargeChecks = makeChargeChecks({
    readLimits: async () => ({ requestsPerMonth: 1_000, requestsPerSecond: 10 }) as never,
    chargeWatch: async (charge) => outcomes[charges.push(charge) - 1] ?? 'charged',
    pause: async (_, reason) => void paused.push(reason),
  });
  const events = { count: 3, month: '2026-11', areEvaluated: true };
  expect(await chargeChecks(aWatch(), events)).toBe(true);
  const { clientId, accountId } = aWatch();
  expect(charges).toEqual([{ clientId, accountId, quotaShare: 0.5, requestsPerMonth: 1_000, ...events }]);
  expect(paused).toEqual([]);
  expect(await chargeChecks(aWatch(), events)).toBe(false);
  expect(await chargeChecks(aWatch(), events)).toBe(false);
  expect(await chargeChecks(aWatch(), { count: 0, month: '2026-11' })).toBe(false);
  expect(paused).toEqual(['quota-exceeded', 'quota-share-exceeded', 'bytes-per-day']);
});
