import { OPERATIONS } from '../http/operations.ts';
import { permissionOf, roleOf } from './permissions.ts';

const app = {
  accountId: 'acc_owner',
  members: [{ accountId: 'acc_dev', role: 'developer', addedAt: '2026-11-20T10:00:00.000Z' }],
} as const;
const account = (accountId: string, createdAt = '2026-11-01T00:00:00.000Z') => ({ accountId, createdAt });
const roleIn = (one: ReturnType<typeof account>) => roleOf({ ...app, members: [...app.members] }, one);

test('an app has an owner and members; others, and accounts younger than their membership, have no role', () => {
  expect(roleIn(account('acc_owner'))).toBe('owner');
  expect(roleIn(account('acc_dev'))).toBe('developer');
  expect(roleIn(account('acc_other'))).toBeUndefined();
  expect(roleIn(account('acc_dev', '2026-11-20T10:00:00.001Z'))).toBeUndefined();
});

test('every operation below an app of a developer needs a permission, and no other does', () => {
  for (const [id, operation] of Object.entries(OPERATIONS)) {
    const isOfApp = operation.path.startsWith('/api/apps/:clientId');
    expect([id, permissionOf(operation) !== undefined]).toEqual([id, isOfApp]);
  }
});
