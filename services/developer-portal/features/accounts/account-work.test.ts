import type { Account } from '#shared/contracts/apps/client-app.ts';
import { makeAccountWork, requireVerified } from './account-work.ts';

const NOW = '2026-11-25T10:00:00.000Z';
const account: Account = {
  ...{ accountId: 'acc_1', email: 'a@example.com', version: 1, tier: 'free', verified: true, createdAt: NOW },
  ...{ passwordHash: 'proved', twoFactor: { encrypted: 'sealed', enabledAt: NOW, recoveryCodes: ['hash'] } },
};

/** Turns the second factor off, while the account is already `current`. */
const turnOff = (current: Account, proved?: Account) =>
  makeAccountWork({
    writes: {
      account: async (_: string, __: unknown, change: (stored: Account) => Account | undefined) =>
        change(current),
    },
  } as unknown as Parameters<typeof makeAccountWork>[0]).changeTwoFactor(
    'actor',
    account.accountId,
    'two-factor-disabled',
    () => undefined,
    proved,
  );

test('a second factor is not changed by somebody who proved a password that was replaced meanwhile', async () => {
  const reset = { ...account, passwordHash: 'set by a reset link' };
  await expect(turnOff(reset, account)).rejects.toMatchObject({ code: 'conflict' });
  const { twoFactor: _, ...without } = account;
  expect(await turnOff(account, account)).toEqual(without);
});

test('an operator changes a second factor whatever the password is', async () => {
  const { twoFactor: _, ...without } = account;
  expect(await turnOff({ ...account, passwordHash: 'another' })).toEqual({
    ...without,
    passwordHash: 'another',
  });
});

test('the refusal names the address and the option to add, and vouching lifts it', () => {
  const account = { email: 'dev@example.com', passwordHash: 'x', verified: false } as Account;
  expect(() => requireVerified(account, false)).toThrow(/dev@example.com.*--vouch/);
  expect(() => requireVerified(account, true)).not.toThrow();
  expect(() => requireVerified({ ...account, verified: true }, false)).not.toThrow();
});
