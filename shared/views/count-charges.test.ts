import type { CheckCompleted } from '#shared/contracts/check-completed.ts';
import type { CheckRequested } from '#shared/contracts/check-requested.ts';
import { aBatchPart, aBatchPartCompleted } from '../../test/support/a-batch.ts';
import { ChargeCount } from './count-charges.ts';

const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 10, minute)).toISOString();
const aCheck = (requestId: string, minute: number, over: Partial<CheckRequested> = {}) =>
  ({
    requestId,
    clientId: 'app_1',
    chargedMonth: '2026-11',
    acceptedAt: at(minute),
    ...over,
  }) as CheckRequested;
const aTotal = (monthTotal: number, minute: number) => ({
  clientId: 'app_1',
  hour: '2026-11-21T10',
  accepted: 0,
  refused: 0,
  month: '2026-11',
  monthTotal,
  asOf: at(minute),
});

test('a counter is the last total and the checks accepted since', () => {
  const count = new ChargeCount();
  count.addTotal(aTotal(90, 10));
  count.addTotal(aTotal(100, 30));
  count.addTotal(aTotal(95, 20));
  count.addCheck(aCheck('before', 29));
  count.addCheck(aCheck('at', 30));
  count.addCheck(aCheck('after', 31));
  expect(count.charges()).toEqual([{ clientId: 'app_1', month: '2026-11', count: 102 }]);
});

test('a check that is twice in a lane is counted once, and an uncharged check is not counted', () => {
  const count = new ChargeCount();
  count.addCheck(aCheck('twice', 1));
  count.addCheck(aCheck('twice', 1));
  const { chargedMonth: _, ...free } = aCheck('free', 2);
  count.addCheck(free);
  expect(count.charges()).toEqual([{ clientId: 'app_1', month: '2026-11', count: 1 }]);
});

test('a check that decided nothing is refunded once, unless the total already includes the refund', () => {
  const count = new ChargeCount();
  count.addTotal(aTotal(100, 30));
  const undecided = (requestId: string) =>
    ({ requestId, clientId: 'app_1', chargedMonth: '2026-11', decided: false }) as CheckCompleted;
  count.addResult(undecided('before'), Date.parse(at(29)));
  count.addResult(undecided('after'), Date.parse(at(31)));
  count.addResult(undecided('after'), Date.parse(at(32)));
  count.addResult({ ...undecided('decided'), decided: true }, Date.parse(at(31)));
  expect(count.charges()).toEqual([{ clientId: 'app_1', month: '2026-11', count: 99 }]);
});

test('each entry of a part is a check, and a part that is published twice counts once', () => {
  const count = new ChargeCount();
  count.addTotal(aTotal(100, 30));
  const part = aBatchPart('app_1', { chargedMonth: '2026-11', acceptedAt: at(31) });
  count.addPart(part);
  count.addPart(part);
  count.addPart({ ...part, part: 1 });
  count.addPart({ ...part, part: 2, acceptedAt: at(29) });
  expect(count.charges()).toEqual([{ clientId: 'app_1', month: '2026-11', count: 104 }]);
});

test('the entries of a part are refunded once', () => {
  const count = new ChargeCount();
  count.addTotal(aTotal(100, 30));
  const part = aBatchPartCompleted('app_1', { chargedMonth: '2026-11', refundCount: 2 });
  count.addPartResult(part, Date.parse(at(29)));
  count.addPartResult(part, Date.parse(at(31)));
  count.addPartResult(part, Date.parse(at(32)));
  expect(count.charges()).toEqual([{ clientId: 'app_1', month: '2026-11', count: 98 }]);
});
