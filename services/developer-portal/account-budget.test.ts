import { OPERATIONS } from './operations.ts';
import { isBudgeted, type WRITE_LIMITS, writeDraws } from './write-budget.ts';

const free = { accountId: 'acc_1', tier: 'free' } as const;

test('every write of a session is charged to a budget per minute and per day, and no other operation is', () => {
  for (const [id, operation] of Object.entries(OPERATIONS)) {
    const isWrite = operation.access === 'session' && operation.method !== 'get';
    expect([id, isBudgeted(operation), writeDraws(operation, free).length]).toEqual([
      id,
      isWrite,
      isWrite ? 2 : 0,
    ]);
  }
});

test('removals are charged to their own budget', () => {
  const names = (id: keyof typeof OPERATIONS) =>
    writeDraws(OPERATIONS[id], free).map(({ budget }) => budget.name);
  for (const id of ['deleteApp', 'revokeKey', 'changePassword', 'deleteAccount', 'endOtherSessions'] as const)
    expect([id, names(id)]).toEqual([id, ['removals-minute', 'removals-day']]);
  for (const id of ['createApp', 'rollKey', 'resendDelivery', 'sendTestEvent', 'tryCheck'] as const)
    expect([id, names(id)]).toEqual([id, ['writes-minute', 'writes-day']]);
});

test('a higher tier has a larger budget', () => {
  const day = (tier: keyof typeof WRITE_LIMITS) =>
    writeDraws(OPERATIONS.createApp, { ...free, tier })[1]?.budget.countMax ?? 0;
  expect(day('paid')).toBeGreaterThan(day('free'));
  expect(day('enterprise')).toBeGreaterThan(day('paid'));
});
