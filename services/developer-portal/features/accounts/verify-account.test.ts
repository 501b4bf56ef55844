import type { Account } from '#shared/contracts/apps/client-app.ts';
import { requireVerified } from './verify-account.ts';

test('the refusal names the address and the option to add, and vouching lifts it', () => {
  const account = { email: 'dev@example.com', passwordHash: 'x', verified: false } as Account;
  expect(() => requireVerified(account, false)).toThrow(/dev@example.com.*--vouch/);
  expect(() => requireVerified(account, true)).not.toThrow();
  expect(() => requireVerified({ ...account, verified: true }, false)).not.toThrow();
});
