import type { BatchLine } from './batch-csv.ts';
import { isSelected, rolesChanged, SELECTIONS } from './select-lines.ts';

const aLine = (over: Partial<BatchLine>): BatchLine => ({
  ...{ index: 0, account: '0x1', status: 'completed', roles: [], errors: [], blockNumbers: {} },
  ...over,
});
const unread = { roleId: 'r', code: 'rpc-timeout', message: 'No answer.', retryable: true };
const granted = [{ id: 'r', granted: true }];
const denied = [{ id: 'r', granted: false }];

it.each<[string, Partial<BatchLine>, string[]]>([
  ['decided, outside of a preview', { roles: granted }, ['all']],
  ['without a change', { before: { r: true }, roles: granted }, ['all']],
  ['that gains a role', { before: { r: false }, roles: granted }, ['all', 'gained']],
  ['that loses a role', { before: { r: true }, roles: denied }, ['all', 'lost']],
  ['whose role was never decided before', { before: {}, roles: granted }, ['all']],
  ['with a role that could not be read', { before: { r: true }, errors: [unread] }, ['all', 'unread']],
  [
    'that denies what could not be read',
    { before: { r: true }, roles: denied, errors: [unread] },
    ['all', 'unread'],
  ],
  [
    'with a granted rule beside an unread one of the same role',
    { before: { r: false }, roles: granted, errors: [unread] },
    ['all', 'unread', 'gained'],
  ],
  ['that failed', { before: { r: true }, status: 'failed' }, ['all', 'unread']],
])('an entry %s is among %j', (_, over, expected) => {
  expect(SELECTIONS.filter((selection) => isSelected(aLine(over), selection))).toEqual(expected);
});

it('names the roles that change, and how', () => {
  const line = aLine({
    before: { r: true, s: false, t: true },
    roles: [...denied, { id: 's', granted: true }],
  });
  expect(rolesChanged(line)).toEqual([
    { id: 'r', granted: false },
    { id: 's', granted: true },
  ]);
});
