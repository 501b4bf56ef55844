import type { Usage } from '#shared/contracts/usage/usage.ts';
import { aBatchPart, OF_WATCH } from '../../../test/support/builders/a-batch.ts';
import { aCheckRequested } from '../../../test/support/builders/a-check-requested.ts';
import { partially } from '../../../test/support/builders/partially.ts';
import type { OpenViews } from './open-views.ts';
import { Totals } from './totals.ts';

const NOW = Date.parse('2026-11-21T12:00:00.000Z');
const at = (second: number): string => new Date(NOW - 60_000 + second * 1_000).toISOString();
const MONTH = { chargedMonth: '2026-11' };

const aTotal = (over: Partial<Usage> = {}): Usage => ({
  ...{ clientId: 'app_1', hour: '2026-11-21T11', month: '2026-11' },
  ...{ monthTotal: 10, monthOfWatches: 4, day: { granted: 3 }, ofHour: { granted: 1 }, asOf: at(0) },
  ...over,
});

/** What the totals restore. */
async function restored(totals: Totals) {
  const calls: [name: string, ...args: unknown[]][] = [];
  const note =
    (name: string) =>
    async (...args: unknown[]) =>
      void calls.push([name, ...args]);
  await totals.restore(
    partially<OpenViews>({
      admission: { raiseCounter: note('month') },
      usageDays: { restore: note('day'), restoreHour: note('hour') },
    }),
  );
  return calls;
}

test('a month has its newest total and the checks that were accepted since, each once', async () => {
  const totals = new Totals(NOW);
  totals.add(aTotal({ monthTotal: 12, asOf: at(2) }));
  totals.add(aTotal({ monthTotal: 10, asOf: at(1) }));
  totals.addCheck(aCheckRequested('app_1', { ...MONTH, acceptedAt: at(1) }));
  const since = aCheckRequested('app_1', { ...MONTH, acceptedAt: at(2) });
  for (const check of [since, since]) totals.addCheck(check);
  totals.addPart(aBatchPart('app_1', { ...MONTH, acceptedAt: at(3) }));
  totals.addPart(aBatchPart('app_1', { ...MONTH, acceptedAt: at(3), delivery: OF_WATCH }));
  totals.addCheck(aCheckRequested('app_new', { ...MONTH, acceptedAt: at(1) }));
  const months = (await restored(totals)).filter(([name]) => name === 'month');
  expect(months).toEqual([
    ['month', { clientId: 'app_1', month: '2026-11', total: 12, since: 3, ofWatches: 4 }],
    ['month', { clientId: 'app_new', month: '2026-11', total: 0, since: 1, ofWatches: 0 }],
  ]);
});

test('a day and the newest hours have the figures of their newest total', async () => {
  const totals = new Totals(NOW);
  totals.add(aTotal({ hour: '2026-11-20T10', day: { granted: 1 }, ofHour: { granted: 1 }, asOf: at(-9) }));
  totals.add(aTotal({ hour: '2026-11-20T11', day: { granted: 2 }, ofHour: { granted: 1 }, asOf: at(-8) }));
  totals.add(aTotal({ hour: '2026-10-01T10', day: { granted: 9 }, asOf: at(-7) }));
  const calls = await restored(totals);
  expect(calls.filter(([name]) => name === 'day').map(([, , , figures]) => figures)).toEqual([
    { granted: 2 },
  ]);
  expect(calls.filter(([name]) => name === 'hour')).toHaveLength(2);
});

test('a total that may be younger than the data of Redis is left out', async () => {
  const totals = new Totals(NOW, NOW - 60_000);
  totals.add(aTotal());
  expect(await restored(totals)).toEqual([]);
});

test('a total may have what follows from the result of an earlier check, and not of a later one', () => {
  const totals = new Totals(NOW);
  totals.add(aTotal({ asOf: at(2) }));
  totals.add(aTotal({ asOf: at(1) }));
  const of = (second: number, clientId = 'app_1') => totals.mayHave({ clientId, acceptedAt: at(second) });
  expect([of(1), of(2), of(1, 'app_2')]).toEqual([true, false, false]);
});
