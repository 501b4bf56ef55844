import type { Account } from '#shared/contracts/apps/client-app.ts';
import { makeAccountWork, requireVerified } from './account-work.ts';
import { makeResetLinks } from './reset-links.ts';

const NOW = '2026-11-25T10:00:00.000Z';
const account: Account = {
  ...{ accountId: 'acc_1', email: 'a@example.com', version: 1, tier: 'free', verified: true, createdAt: NOW },
  ...{ passwordHash: 'proved', twoFactor: { encrypted: 'sealed', enabledAt: NOW, recoveryCodes: ['hash'] } },
};

/** The operations, while each account is already `current`. */
const workOn = (current: Account) =>
  makeAccountWork({
    writes: {
      account: async (_: string, __: unknown, change: (stored: Account) => Account | undefined) =>
        change(current),
    },
  } as unknown as Parameters<typeof makeAccountWork>[0]);

/** Turns the second factor off, while the account is already `current`. */
const turnOff = (current: Account, proved?: Account) =>
  workOn(current).changeTwoFactor('actor', account.accountId, 'two-factor-disabled', () => undefined, proved);

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

test('an account of the identity provider gets no password beside it, and the refusal says what to do', async () => {
  const { passwordHash: _, ...rest } = account;
  const joined = { ...rest, singleSignOn: 'subject' };
  const { accountId } = account;
  const refused = {
    code: 'conflict',
    message: expect.stringMatching(/^a@example\.com .*account reset-single-sign-on a@example\.com/),
  };
  await expect(workOn(joined).setPassword('actor', accountId, 'new')).rejects.toMatchObject(refused);
  await expect(workOn(joined).grantOperator('actor', accountId, 'new', 'read')).rejects.toMatchObject(
    refused,
  );
  // A link that was made before the account was joined is for another credential; see `credentialOf`.
  const links = makeResetLinks({} as Parameters<typeof makeResetLinks>[0]);
  await expect(links.make('actor', joined)).rejects.toMatchObject(refused);
  expect(await workOn(rest).setPassword('actor', accountId, 'new')).toEqual({ ...rest, passwordHash: 'new' });
});

test('the refusal names the address and the option to add, and vouching lifts it', () => {
  const account = { email: 'dev@example.com', passwordHash: 'x', verified: false } as Account;
  expect(() => requireVerified(account, false)).toThrow(/dev@example.com.*--vouch/);
  expect(() => requireVerified(account, true)).not.toThrow();
  expect(() => requireVerified({ ...account, verified: true }, false)).not.toThrow();
});
