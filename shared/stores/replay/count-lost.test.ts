import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { aBatchPart, OF_WATCH } from '../../../test/support/builders/a-batch.ts';
import { countLost, TailCount } from './count-lost.ts';

const aCheck = (requestId: string, acceptedAt: string, chargedMonth?: string) =>
  ({
    requestId,
    clientId: 'app_1',
    acceptedAt,
    ...(chargedMonth && { chargedMonth }),
  }) as CheckRequested;

test('the charged checks of the newest records are grouped by hour, each once, in the order of their times', () => {
  const count = new TailCount();
  count.add(aCheck('b', '2026-11-21T10:00:00.002Z', '2026-11'));
  count.add(aCheck('a', '2026-11-21T10:00:00.001Z', '2026-11'));
  count.add(aCheck('a', '2026-11-21T10:00:00.001Z', '2026-11'));
  count.add(aCheck('c', '2026-11-21T10:00:00.001Z', '2026-11'));
  count.add(aCheck('free', '2026-11-21T10:00:00.003Z'));
  const ms = Date.parse('2026-11-21T10:00:00.000Z');
  expect(count.hours()).toEqual([
    {
      clientId: 'app_1',
      hour: ms / 3_600_000,
      month: '2026-11',
      times: [
        { ms: ms + 1, count: 2 },
        { ms: ms + 2, count: 1 },
      ],
    },
  ]);
});

test('checks after the last counted instant are lost: later milliseconds, and higher numbers within that millisecond', () => {
  const times = [
    { ms: 10, count: 3 },
    { ms: 11, count: 5 },
    { ms: 12, count: 2 },
  ];
  expect(countLost(times, { ms: 11, count: 4 }, 0)).toEqual({ count: 3, last: { ms: 12, count: 2 } });
  expect(countLost(times, { ms: 12, count: 2 }, 0)).toBeUndefined();
  // A charge that was refunded at once is counted there and is in no lane.
  expect(countLost(times, { ms: 12, count: 3 }, 0)).toBeUndefined();
});

test('an hour without a count is lost whole, except for the checks that an earlier rebuild has counted', () => {
  const times = [
    { ms: 10, count: 3 },
    { ms: 11, count: 5 },
  ];
  expect(countLost(times, undefined, 0)?.count).toBe(8);
  expect(countLost(times, undefined, 10)?.count).toBe(5);
});

test('each entry of a part is a check of the millisecond in which the batch was accepted', () => {
  const count = new TailCount();
  const part = aBatchPart('app_1', { chargedMonth: '2026-11', acceptedAt: '2026-11-21T10:00:00.001Z' });
  count.addPart(part);
  count.addPart(part);
  count.addPart({ ...part, part: 1 });
  expect(count.hours().map(({ times }) => times)).toEqual([
    [{ ms: Date.parse('2026-11-21T10:00:00.001Z'), count: 4 }],
  ]);
});

test('the checks of a watch are not counted: a restart of Redis would charge them again', () => {
  const count = new TailCount();
  count.addPart(aBatchPart('app_1', { chargedMonth: '2026-11', delivery: OF_WATCH }));
  expect(count.hours()).toEqual([]);
});
