import { foldRoles } from './fold-roles.ts';

const yes = (id: string) => ({ id, granted: true });
const no = (id: string) => ({ id, granted: false });

test.each([
  ['one granted rule is enough', [no('a'), yes('a')], ['a'], 'granted'],
  ['no granted rule and an unread one leave the role undetermined', [no('a')], ['a'], 'undetermined'],
  [
    'an unread rule that was also denied by request stays undetermined',
    [no('a'), no('a')],
    ['a'],
    'undetermined',
  ],
  ['denied rules alone deny', [no('a'), no('a')], [], 'denied'],
  ['an unread rule alone is undetermined', [], ['a'], 'undetermined'],
  ['another role changes nothing', [no('a'), yes('b')], ['c'], 'denied'],
] as const)('%s', (_name, roles, unread, outcome) => {
  const errors = unread.map((roleId) => ({ roleId }));
  expect(foldRoles({ roles: [...roles], errors }).get('a')).toBe(outcome);
});
