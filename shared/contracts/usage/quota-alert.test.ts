import { alertEndsAt, deliveryOfAlert, QuotaAlert, quotaAlertId, reachedThresholds } from './quota-alert.ts';

const ALERT: QuotaAlert = {
  type: 'quota.threshold',
  clientId: 'app_1',
  month: '2026-12',
  threshold: 80,
  used: 8_000,
  quota: 10_000,
  at: '2026-12-21T10:00:00.000Z',
};

test.each([
  [7_999, 0, []],
  [8_000, 0, [80]],
  [9_999, 80, []],
  [10_000, 80, [100]],
  [10_000, 0, [80, 100]],
  [10_000, 100, []],
])('%i of 10 000 checks, %i %% sent already, reach %j', (used, sent, thresholds) => {
  expect(reachedThresholds(used, 10_000, sent)).toEqual(thresholds);
});

test('a share of a small quota is exact', () => {
  expect(reachedThresholds(2, 3, 0)).toEqual([]);
  expect(reachedThresholds(4, 5, 0)).toEqual([80]);
});

test('an alert has one id per app, month and threshold, which fits a delivery', () => {
  const others = [{ clientId: 'app_2' }, { month: '2027-01' }, { threshold: 100 as const }];
  const ids = [ALERT, ...others.map((other) => ({ ...ALERT, ...other }))].map(quotaAlertId);
  expect(new Set(ids).size).toBe(4);
  expect(quotaAlertId({ ...ALERT, used: 9_000, at: 'later' } as QuotaAlert)).toBe(ids[0]);
  expect(ids[0]).toMatch(/^quota_[0-9a-f]{32}$/);
});

test('an alert is kept until the day after its month, also over the end of a year', () => {
  expect(new Date(alertEndsAt('2026-12')).toISOString()).toBe('2027-01-02T00:00:00.000Z');
  const delivery = deliveryOfAlert(ALERT, 'acc_1', 'https://example.com/hook');
  expect(delivery.retainUntil).toBe('2027-01-02T00:00:00.000Z');
  expect(QuotaAlert.parse(JSON.parse(delivery.resultJson))).toEqual(ALERT);
});
