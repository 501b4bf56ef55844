import { accountDraws, isBudgeted, type WRITE_LIMITS } from './account-budget.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

const free = { accountId: 'acc_1', tier: 'free' } as const;

test('every write of a session is charged per minute and per day, its reads of apps and its heavy reads per minute, and nothing else is', () => {
  for (const [id, operation] of Object.entries<Operation>(OPERATIONS)) {
    const isOfSession = operation.access === 'session';
    const isWrite = isOfSession && operation.method !== 'get';
    const isLarge = operation.path.startsWith('/api/apps') || operation.isHeavy === true;
    const isRead = isOfSession && operation.method === 'get' && isLarge;
    expect([id, isBudgeted(operation), accountDraws(operation, free).length]).toEqual([
      id,
      isWrite || isRead,
      isWrite ? 2 : Number(isRead),
    ]);
  }
});

test('removals are charged to their own budget', () => {
  const names = (id: keyof typeof OPERATIONS) =>
    accountDraws(OPERATIONS[id], free).map(({ budget }) => budget.name);
  for (const id of ['deleteApp', 'revokeKey', 'changePassword', 'deleteAccount', 'endOtherSessions'] as const)
    expect([id, names(id)]).toEqual([id, ['removals-minute', 'removals-day']]);
  for (const id of ['createApp', 'rollKey', 'resendDelivery', 'sendTestEvent', 'tryCheck'] as const)
    expect([id, names(id)]).toEqual([id, ['writes-minute', 'writes-day']]);
});

test('reads are charged to their own budget, which the polls of the page do not reach', () => {
  for (const id of ['readApp', 'listWatches', 'listChecks', 'listDeliveries', 'listEntries'] as const)
    expect([id, accountDraws(OPERATIONS[id], free)]).toEqual([
      id,
      [{ budget: { name: 'reads-minute', countMax: 1_200, windowMs: 60_000 }, owner: 'acc_1' }],
    ]);
});

test('a higher tier has a larger budget', () => {
  const day = (tier: keyof typeof WRITE_LIMITS) =>
    accountDraws(OPERATIONS.createApp, { ...free, tier })[1]?.budget.countMax ?? 0;
  expect(day('paid')).toBeGreaterThan(day('free'));
  expect(day('enterprise')).toBeGreaterThan(day('paid'));
});
