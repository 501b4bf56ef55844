import type { BatchLine } from '../../support/infrastructure/connect-test-chains.ts';
import { countEntries, judgeBatch } from './judge-batch.ts';

const HOLDER = '0xa';
const ACCOUNTS = [HOLDER, '0xb', '0xc'];
const aLine = (index: number, granted = index === 0, account = ACCOUNTS[index] ?? ''): BatchLine =>
  ({
    index,
    account,
    status: 'completed',
    roles: [{ id: 'r', granted }],
    errors: [],
  }) as unknown as BatchLine;
const aStatus = (granted: number, denied: number) => ({
  requestId: 'batch',
  status: 'completed' as const,
  entries: 3,
  done: 3,
  roles: [{ id: 'r', granted, denied, undetermined: 0 }],
  acceptedAt: '2026-11-22T00:00:00.000Z',
});

test('a batch with one correct line per entry breaks no promise', () => {
  const lines = [aLine(0), aLine(1), aLine(2)];
  const counts = countEntries(lines, ACCOUNTS, HOLDER);
  expect(counts).toEqual({ lost: 0, doubled: 0, contradictory: 0 });
  expect(judgeBatch(aStatus(1, 2), lines, counts)).toEqual([]);
});

test.each([
  [
    'an entry without a line is lost',
    [aLine(0), aLine(1)],
    ['1 lost', 'the counts of r differ from its lines'],
  ],
  [
    'a second line of an entry is doubled',
    [aLine(0), aLine(1), aLine(1), aLine(2)],
    ['1 doubled', 'the lines are out of order', 'the counts of r differ from its lines'],
  ],
  [
    'a role that the chain never granted is contradictory',
    [aLine(0), aLine(1, true), aLine(2)],
    ['1 contradictory', 'the counts of r differ from its lines'],
  ],
  [
    'a line of another wallet is contradictory',
    [aLine(0), aLine(1, false, '0xd'), aLine(2)],
    ['1 contradictory'],
  ],
  ['lines in another order are reported', [aLine(1), aLine(0), aLine(2)], ['the lines are out of order']],
])('%s', (_, lines, expected) => {
  expect(judgeBatch(aStatus(1, 2), lines, countEntries(lines, ACCOUNTS, HOLDER))).toEqual(expected);
});
