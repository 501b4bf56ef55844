import type { CheckCompleted } from '#shared/contracts/check-completed.ts';
import type { Usage } from '#shared/contracts/usage.ts';
import { DayCount } from './count-days.ts';

const NOW = Date.parse('2026-11-21T12:00:00.000Z');
const aResult = (requestId: string, date: string): CheckCompleted => ({
  requestId,
  clientId: 'app_1',
  delivery: { mode: 'poll' },
  acceptedAt: `${date}T10:00:00.000Z`,
  retainUntil: `${date}T11:00:00.000Z`,
  decided: true,
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
  asOf: `${hour}:${asOfMinute}:00.000Z`,
  ...(day && { day }),
});

test('a check whose result stands twice counts once on its day', () => {
  const count = new DayCount(NOW);
  count.addResult(aResult('a', '2026-11-21'));
  count.addResult(aResult('a', '2026-11-21'));
  count.addResult(aResult('b', '2026-11-20'));
  const figures = { 'poll.completed.0': 1, granted: 1 };
  expect(count.days()).toEqual([
    { clientId: 'app_1', date: '2026-11-21', figures },
    { clientId: 'app_1', date: '2026-11-20', figures },
  ]);
});

test('a day that the results no longer have whole is what was published of it last', () => {
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
