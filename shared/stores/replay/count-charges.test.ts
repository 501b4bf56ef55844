import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';
import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { aBatchPart, aBatchPartCompleted } from '../../../test/support/builders/a-batch.ts';
import { ChargeCount } from './count-charges.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 11);
const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 10, minute)).toISOString();
const aCheck = (requestId: string, minute: number, over: Partial<CheckRequested> = {}) =>
  ({
    requestId,
    clientId: 'app_1',
    chargedMonth: '2026-11',
    acceptedAt: at(minute),
    ...over,
  }) as CheckRequested;
const aTotal = (monthTotal: number, minute: number, monthRefunds = 0) => ({
  clientId: 'app_1',
  hour: '2026-11-21T10',
  accepted: 0,
  refused: 0,
  month: '2026-11',
  monthTotal,
  monthRefunds,
  asOf: at(minute),
});

test('a counter is the last total and the checks accepted since', () => {
  const count = new ChargeCount(NOW_MS);
  count.addTotal(aTotal(90, 10));
  count.addTotal(aTotal(100, 30));
  count.addTotal(aTotal(95, 20));
  count.addCheck(aCheck('before', 29));
  count.addCheck(aCheck('at', 30));
  count.addCheck(aCheck('after', 31));
  expect(count.charges()).toMatchObject([{ clientId: 'app_1', month: '2026-11', count: 102 }]);
});

test('a check that is twice in a lane is counted once, and an uncharged check is not counted', () => {
  const count = new ChargeCount(NOW_MS);
  count.addCheck(aCheck('twice', 1));
  count.addCheck(aCheck('twice', 1));
  const { chargedMonth: _, ...free } = aCheck('free', 2);
  count.addCheck(free);
  expect(count.charges()).toMatchObject([{ clientId: 'app_1', month: '2026-11', count: 1 }]);
});

const undecided = (requestId: string, minute: number) =>
  ({
    requestId,
    clientId: 'app_1',
    chargedMonth: '2026-11',
    acceptedAt: at(minute),
    decided: false,
  }) as CheckCompleted;

test('a check that decided nothing is refunded once, whether the total already has the refund or not', () => {
  const count = new ChargeCount(NOW_MS);
  // All three were accepted before the total was read, and one of them was refunded by then.
  count.addTotal(aTotal(99, 30, 1));
  for (const id of ['refunded before', 'refunded after', 'refunded after'])
    count.addResult(undecided(id, 29));
  count.addResult({ ...undecided('decided', 29), decided: true });
  expect(count.charges()).toEqual([{ clientId: 'app_1', month: '2026-11', count: 98, refunds: 2 }]);
});

test('refunds from before the results that are counted again are taken from a total of that time', () => {
  const count = new ChargeCount(NOW_MS);
  const old = { asOf: '2026-11-14T00:00:00.000Z' };
  count.addTotal({ ...aTotal(40, 0, 10), ...old });
  count.addTotal(aTotal(90, 30, 12));
  // Accepted before the old total, which has its refund.
  count.addResult({ ...undecided('old', 0), acceptedAt: '2026-11-13T23:00:00.000Z' });
  for (const id of ['a', 'b', 'c']) count.addResult(undecided(id, 20));
  expect(count.charges()).toEqual([{ clientId: 'app_1', month: '2026-11', count: 89, refunds: 13 }]);
});

test('each entry of a part is a check, and a part that is published twice counts once', () => {
  const count = new ChargeCount(NOW_MS);
  count.addTotal(aTotal(100, 30));
  const part = aBatchPart('app_1', { chargedMonth: '2026-11', acceptedAt: at(31) });
  count.addPart(part);
  count.addPart(part);
  count.addPart({ ...part, part: 1 });
  count.addPart({ ...part, part: 2, acceptedAt: at(29) });
  expect(count.charges()).toMatchObject([{ clientId: 'app_1', month: '2026-11', count: 104 }]);
});

test('the entries of a part are refunded once', () => {
  const count = new ChargeCount(NOW_MS);
  count.addTotal(aTotal(100, 30));
  const part = aBatchPartCompleted('app_1', { chargedMonth: '2026-11', refundCount: 2, acceptedAt: at(29) });
  count.addPartResult(part);
  count.addPartResult(part);
  expect(count.charges()).toMatchObject([{ clientId: 'app_1', month: '2026-11', count: 98 }]);
});
