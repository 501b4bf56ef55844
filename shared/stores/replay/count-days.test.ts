import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';
import { DAY_FIGURES_MAX } from '#shared/contracts/usage/day-figures.ts';
import type { Usage } from '#shared/contracts/usage/usage.ts';
import { aBatchPartCompleted } from '../../../test/support/builders/a-batch.ts';
import { aCheckCompleted } from '../../../test/support/builders/a-check-completed.ts';
import { DayCount } from './count-days.ts';

const NOW = Date.parse('2026-11-21T12:00:00.000Z');
const aResult = (requestId: string, date: string): CheckCompleted =>
  aCheckCompleted('app_1', {
    requestId,
    accountId: 'acc_1',
    acceptedAt: `${date}T10:00:00.000Z`,
    retainUntil: `${date}T11:00:00.000Z`,
    resultJson: JSON.stringify({
      status: 'completed',
      roles: [{ id: 'r', granted: true }],
      errors: [],
      evaluatedAt: `${date}T10:00:00.001Z`,
    }),
  });
const aTotal = (hour: string, refused: number, asOfMinute: number, day: Usage['day']): Usage => ({
  clientId: 'app_1',
  hour,
  accepted: 0,
  refused,
  month: hour.slice(0, 7),
  monthTotal: 0,
  monthRefunds: 0,
  asOf: `${hour}:${asOfMinute}:00.000Z`,
  ...(day && { day }),
});

test('a check whose result is published twice counts once on its day', () => {
  const count = new DayCount(NOW);
  count.addResult(aResult('a', '2026-11-21'));
  count.addResult(aResult('a', '2026-11-21'));
  count.addResult(aResult('b', '2026-11-20'));
  const figures = { 'poll.completed.0': 1, granted: 1, 'key.key_1': 1 };
  expect(count.days()).toEqual([
    { clientId: 'app_1', date: '2026-11-21', figures },
    { clientId: 'app_1', date: '2026-11-20', figures },
  ]);
});

test('a part of a batch whose results are published twice counts once on its day, each part by itself', () => {
  const count = new DayCount(NOW);
  const part = aBatchPartCompleted('app_1', {
    acceptedAt: '2026-11-21T10:00:00.000Z',
    failedCount: 1,
    roles: [
      { id: 'a', granted: 1, denied: 1, undetermined: 0 },
      { id: 'b', granted: 0, denied: 0, undetermined: 2 },
    ],
  });
  for (const one of [part, part, { ...part, part: 1 }]) count.addPart(one);
  const figures = {
    ...{ 'batch.completed': 2, 'batch.failed': 2, granted: 2, denied: 2, undetermined: 4 },
  };
  expect(count.days()).toEqual([{ clientId: 'app_1', date: '2026-11-21', figures }]);
});

test('a day whose results are no longer complete has its last published counters', () => {
  const count = new DayCount(NOW);
  count.addTotal(aTotal('2026-11-01T10', 0, 59, { granted: 9 }));
  count.addTotal(aTotal('2026-11-01T10', 0, 30, { granted: 5 }));
  count.addResult(aResult('late', '2026-11-01'));
  expect(count.days()).toEqual([{ clientId: 'app_1', date: '2026-11-01', figures: { granted: 9 } }]);
});

test('refusals are the sum of the last record of each hour', () => {
  const count = new DayCount(NOW);
  count.addTotal(aTotal('2026-11-21T09', 3, 30, { refused: 3 }));
  count.addTotal(aTotal('2026-11-21T09', 4, 50, { refused: 4 }));
  count.addTotal(aTotal('2026-11-21T10', 2, 10, { refused: 6 }));
  expect(count.days()).toEqual([{ clientId: 'app_1', date: '2026-11-21', figures: { refused: 6 } }]);
});

test('bytes are those that were published last, also of a day whose checks are counted again', () => {
  const count = new DayCount(NOW);
  count.addTotal(aTotal('2026-11-21T09', 0, 30, { bytes: 4_000, 'poll.completed.0': 2 }));
  count.addTotal(aTotal('2026-11-21T10', 0, 10, { bytes: 7_000 }));
  count.addResult(aResult('a', '2026-11-21'));
  const figures = { 'poll.completed.0': 1, granted: 1, 'key.key_1': 1, bytes: 7_000 };
  expect(count.days()).toEqual([{ clientId: 'app_1', date: '2026-11-21', figures }]);
});

test('the newest hours are counted by themselves, with their refusals and without keys', () => {
  const count = new DayCount(NOW);
  count.addTotal(aTotal('2026-11-21T10', 3, 30, undefined));
  count.addTotal(aTotal('2026-11-18T10', 9, 30, undefined));
  count.addResult({ ...aResult('a', '2026-11-21'), keyId: 'key_1' });
  count.addResult({ ...aResult('b', '2026-11-21'), keyId: 'key_1' });
  count.addResult(aResult('c', '2026-11-18'));
  const hours = [
    {
      clientId: 'app_1',
      hour: '2026-11-21T10',
      figures: { 'poll.completed.0': 2, granted: 2, refused: 3 },
    },
  ];
  expect(count.hours()).toEqual(hours);
  expect(count.hours()).toEqual(hours);
  expect(count.days().find(({ date }) => date === '2026-11-21')?.figures).toMatchObject({ 'key.key_1': 2 });
});

test('a day holds a bounded number of API keys, and counts further ones together', () => {
  const count = new DayCount(NOW);
  for (let i = 0; i < 1_000; i++) count.addResult({ ...aResult(`r${i}`, '2026-11-21'), keyId: `key_${i}` });
  const figures = count.days()[0]?.figures ?? {};
  expect(Object.keys(figures).length).toBeLessThanOrEqual(DAY_FIGURES_MAX + 1);
  const ofKeys = Object.entries(figures).filter(([name]) => name.startsWith('key.'));
  expect(ofKeys.reduce((sum, [, checks]) => sum + checks, 0)).toBe(1_000);
  expect(figures['key.other']).toBeGreaterThan(500);
});
