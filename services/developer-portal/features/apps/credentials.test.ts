import { partially } from '../../../../test/support/builders/partially.ts';
import { accountIdOf, credentialOf } from './credentials.ts';

type Account = Parameters<typeof credentialOf>[0];

test('an address has one account in any case of its ASCII letters, and shares it with no other mailbox', () => {
  expect(accountIdOf('Kate@Example.com')).toBe(accountIdOf('kate@example.com'));
  expect(accountIdOf('\u212Aate@example.com')).not.toBe(accountIdOf('kate@example.com'));
});

test('accounts without a password, of one address and made one after the other, have different credentials', () => {
  const made = (createdAt: string) => credentialOf(partially<Account>({ createdAt }));
  expect(made('2026-11-21T10:00:00.000Z')).not.toBe(made('2026-11-21T10:00:01.000Z'));
});
