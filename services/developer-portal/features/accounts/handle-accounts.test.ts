import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { visitorOf } from '#shared/http/client-address.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Call } from '../../http/operations.ts';
import { sha256 } from '../apps/credentials.ts';
import { makeAccountWork } from './account-work.ts';
import { makeAccountHandlers } from './handle-accounts.ts';
import type { Passwords } from './passwords.ts';
import { makeProvePassword } from './prove-password.ts';

const ACCOUNT: Account = {
  accountId: 'acc_1',
  version: 1,
  email: 'a@example.com',
  tier: 'free',
  passwordHash: 'hash',
  verified: true,
  createdAt: new Date(0).toISOString(),
};
const TOKEN = `app_${'0'.repeat(24)}.${'x'.repeat(43)}`;
/** An app with one open invitation, for the account's address alone. */
const INVITING = {
  clientId: TOKEN.slice(0, 28),
  accountId: 'acc_2',
  invitations: [
    {
      invitationId: 'inv_1',
      tokenHash: sha256(TOKEN),
      role: 'viewer',
      email: 'A@example.com',
      invitedBy: 'acc_2',
      createdAt: new Date(0).toISOString(),
      expiresAt: new Date(1_000).toISOString(),
    },
  ],
} as unknown as ClientApp;
const OVERLOADED = new ServiceError('overloaded', 'too many password checks are waiting');

/** The real work on a stored account. */
const workOn = (stored: () => Account) =>
  makeAccountWork(
    partially<Parameters<typeof makeAccountWork>[0]>({
      accounts: { findByEmail: async () => stored(), read: async () => stored() },
      clientApps: { listOwned: async () => [], listShared: async () => [] },
      writes: { account: async (_id, _entry, change) => change(stored()) ?? stored() },
      now: () => 0,
    }),
  );

/** `counted` returns the attempts by budget that were not refunded. */
function setUp(
  passwords: Partial<Passwords>,
  stored: () => Account = () => ACCOUNT,
  config: Partial<Dependencies['config']> = {},
) {
  const opened: Account[] = [];
  const noted: string[] = [];
  const counted = new Map<string, number>();
  const owners = new Set<string>();
  const move = (by: number) => async (draws: readonly { budget: { name: string }; owner: string }[]) => {
    for (const { budget, owner } of draws) {
      counted.set(budget.name, (counted.get(budget.name) ?? 0) + by);
      owners.add(owner);
    }
  };
  const throttle = { take: move(1), refund: move(-1) };
  const proved = { hash: async () => '', verify: async () => true, ...passwords };
  const handlers = makeAccountHandlers(
    partially<Dependencies>({
      accounts: { findByEmail: async (email) => (email === ACCOUNT.email ? ACCOUNT : undefined) },
      accountWork: workOn(stored),
      resetLinks: { find: async (token) => (token === 'good' ? ACCOUNT : undefined) },
      passwords: proved,
      provePassword: makeProvePassword({
        passwords: proved,
        throttle,
        sessions: { list: async () => [] },
        now: () => 0,
      }),
      throttle,
      auditAccess: {
        signIn: async (action, accountId, from) => void noted.push(`${action} ${accountId} ${from}`),
      },
      twoFactor: { prove: async (account) => account },
      clientApps: { read: async (id) => (id === INVITING.clientId ? INVITING : undefined) },
      now: () => 0,
      config: { signUpsPerHour: 100, signUp: 'open', operatorsNeedTwoFactor: false, ...config },
    }),
  );
  const call = {
    body: { email: ACCOUNT.email, password: 'correct horse battery' },
    address: '192.0.2.1',
    visitor: visitorOf('192.0.2.1'),
    browser: 'curl',
    setSession: async (account: Account | undefined) => void (account && opened.push(account)),
  };
  return {
    signIn: (email = ACCOUNT.email, over: object = {}) =>
      handlers.signIn({ ...call, ...over, body: { ...call.body, email } } as unknown as Call<'signIn'>),
    signUp: (body: object = {}, over: object = {}) =>
      handlers.signUp({ ...call, ...over, body: { ...call.body, ...body } } as unknown as Call<'signUp'>),
    readSession: (account: Account) => handlers.readSession({ account } as Call<'readSession'>),
    resetPassword: (token: string) =>
      handlers.resetPassword({
        ...call,
        body: { token, password: 'correct horse battery' },
      } as unknown as Call<'resetPassword'>),
    changePassword: () =>
      handlers.changePassword({
        ...call,
        account: ACCOUNT,
        body: { current: 'correct horse battery', next: 'correct horse staple' },
      } as unknown as Call<'changePassword'>),
    opened,
    noted,
    owners,
    counted: () => Object.fromEntries([...counted].filter(([, count]) => count !== 0)),
  };
}

test('a right password counts no attempt, but its work counts for the address and the account', async () => {
  const { signIn, counted } = setUp({});
  await signIn();
  expect(counted()).toEqual({ 'password-work-address': 1, 'password-work': 1 });
});

test('the networks of one site have one budget: a provider gives 65 536 of them to a customer', async () => {
  const { signIn, signUp, owners } = setUp({ verify: async () => false });
  for (const address of ['2001:db8:1:2::1', '2001:db8:1:3::1']) {
    const from = { visitor: visitorOf(address) };
    await expect(signIn('unknown@example.com', from)).rejects.toMatchObject({ code: 'credentials-invalid' });
    await signUp({}, from);
  }
  const site = '2001:db8:1::/48';
  expect(owners).toEqual(new Set([site, `${site} unknown@example.com`, `nobody ${site}`]));
});

test("a wrong password counts an attempt, and does not charge the account's budget", async () => {
  const { signIn, counted, noted } = setUp({ verify: async () => false });
  for (const email of [ACCOUNT.email, 'unknown@example.com'])
    await expect(signIn(email)).rejects.toMatchObject({ code: 'credentials-invalid' });
  // Of an account that exists, whether or not the caller may learn that.
  expect(noted).toEqual(['sign-in-failed acc_1 curl, 192.0.2.1']);
  expect(counted()).toEqual({ 'sign-in': 2, 'sign-in-address': 2, 'password-work-address': 2 });
});

test('a sign-in refused for overload is refunded', async () => {
  const { signIn, counted } = setUp({ verify: () => Promise.reject(OVERLOADED) });
  await expect(signIn()).rejects.toBe(OVERLOADED);
  expect(counted()).toEqual({});
});

test('a sign-up refused for overload is refunded', async () => {
  const { signUp, counted } = setUp({ hash: () => Promise.reject(OVERLOADED) });
  await expect(signUp()).rejects.toBe(OVERLOADED);
  expect(counted()).toEqual({});
});

test('a closed portal refuses every sign-up, also with an invitation, and hashes nothing', async () => {
  const hash = () => Promise.reject(new Error('hashed a password'));
  const { signUp } = setUp({ hash }, undefined, { signUp: 'closed' });
  for (const body of [{}, { invitation: TOKEN }])
    await expect(signUp(body)).rejects.toMatchObject({ code: 'sign-up-closed', status: 403 });
});

test('where only the invited may sign up, an open invitation for the address is needed; others count a try', async () => {
  const { signUp, counted } = setUp({}, undefined, { signUp: 'invite' });
  const wrong = [
    {},
    { invitation: 'app_1.short' },
    { invitation: TOKEN.replace('x', 'y') },
    { invitation: TOKEN, email: 'other@example.com' },
  ];
  for (const body of wrong)
    await expect(signUp(body)).rejects.toMatchObject({ code: 'sign-up-closed', status: 403 });
  expect(counted()).toEqual({ 'sign-in-address': wrong.length });
  await signUp({ invitation: TOKEN });
  expect(counted()).toEqual({ 'sign-in-address': wrong.length, 'sign-up': 1 });
});

test('the session says whether its operator must set up a second factor', async () => {
  const twoFactor = { enabledAt: ACCOUNT.createdAt, recoveryCodes: [] } as unknown as Account['twoFactor'];
  const operator: Account = { ...ACCOUNT, operator: 'change' };
  const mustSetUp = async (account: Account, operatorsNeedTwoFactor: boolean) =>
    (await setUp({}, undefined, { operatorsNeedTwoFactor }).readSession(account)).account.mustSetUpTwoFactor;
  expect(await mustSetUp(operator, true)).toBe(true);
  expect(await mustSetUp(operator, false)).toBe(false);
  expect(await mustSetUp({ ...operator, twoFactor }, true)).toBe(false);
  expect(await mustSetUp(ACCOUNT, true)).toBe(false);
});

test('a wrong reset link counts an attempt and hashes nothing; a right one counts its work', async () => {
  const { resetPassword, counted } = setUp({});
  await expect(resetPassword('wrong')).rejects.toMatchObject({ code: 'reset-link-invalid' });
  expect(counted()).toEqual({ 'sign-in-address': 1 });
  await resetPassword('good');
  expect(counted()).toEqual({ 'sign-in-address': 1, 'password-work-address': 1 });
});

test('a changed password opens a session of the account as it is then', async () => {
  const { changePassword, opened } = setUp({ hash: async () => 'new' });
  await changePassword();
  expect(opened).toEqual([{ ...ACCOUNT, passwordHash: 'new' }]);
});

test('a change of password that waits while a reset link sets another is a conflict, and opens no session', async () => {
  let stored = ACCOUNT;
  const hash = async () => {
    stored = { ...ACCOUNT, version: 2, passwordHash: 'by the link' };
    return 'new';
  };
  const { changePassword, opened } = setUp({ hash }, () => stored);
  await expect(changePassword()).rejects.toMatchObject({ code: 'conflict' });
  expect(opened).toEqual([]);
});

test('a password by e-mail is for accounts that have one, and not for those of the identity provider', async () => {
  const made: Promise<unknown>[] = [];
  const askFor = (account: Account) =>
    makeAccountHandlers(
      partially<Dependencies>({
        accounts: { findByEmail: async () => account },
        resetLinks: { make: async () => ({ token: 'token', expiresAt: '' }) },
        mail: {
          origin: 'https://portal.example',
          mailer: { send: async (_owner, make) => made.push(make()) > 0 },
        },
        provePassword: {},
        throttle: { take: async () => undefined },
        config: { signUpsPerHour: 100 },
      }),
    ).requestResetLink({
      body: { email: ACCOUNT.email },
      visitor: visitorOf(''),
    } as Call<'requestResetLink'>);
  await askFor(ACCOUNT);
  await askFor({ ...ACCOUNT, singleSignOn: 'subject' });
  expect(await Promise.all(made)).toEqual([expect.objectContaining({ to: ACCOUNT.email }), undefined]);
});
