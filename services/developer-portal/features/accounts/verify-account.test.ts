import type { Account } from '#shared/contracts/apps/client-app.ts';
import { isVerified, requireVerified } from './verify-account.ts';

test.each([
  ['that signed up', { passwordHash: 'x', verified: false }, false],
  ['that an operator made or vouched for', { passwordHash: 'x', verified: true }, true],
  ['from before, with a password', { passwordHash: 'x' }, false],
  ['from before, that only operators wrote to', {}, true],
])('an account %s is verified: %#', (_, account, expected) => {
  expect(isVerified(account)).toBe(expected);
});

test('the refusal names the address and the option to add, and vouching lifts it', () => {
  const account = { email: 'dev@example.com', passwordHash: 'x', verified: false } as Account;
  expect(() => requireVerified(account, false)).toThrow(/dev@example.com.*--vouch/);
  expect(() => requireVerified(account, true)).not.toThrow();
});
