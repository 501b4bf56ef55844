import { setTimeout as delay } from 'node:timers/promises';
import type { Account } from '#shared/contracts/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Accounts } from '#shared/redis/accounts.ts';
import type { AccountWork } from './account-work.ts';
import type { Handlers } from './call.ts';
import type { Passwords } from './passwords.ts';
import { Problem } from './problem.ts';
import type { Sessions } from './sessions.ts';
import { showAccount } from './show.ts';
import type { Draw, Throttle } from './throttle.ts';

const MINUTES_MS = 60_000;
/** A person mistypes a few times; who guesses is slowed down, and locks nobody out but at their own address. */
const TRIES_OF_ONE = { name: 'sign-in', countMax: 10, windowMs: 15 * MINUTES_MS } as const;
const TRIES_OF_ADDRESS = { name: 'sign-in-address', countMax: 100, windowMs: 15 * MINUTES_MS } as const;
/** Of somebody who is signed in already: whoever found an open browser. */
const TRIES_OF_ACCOUNT = { name: 'password', countMax: 10, windowMs: 15 * MINUTES_MS } as const;
/** A sign-up that writes takes longer than one that does not: both take this long, so that it is not seen. */
const WRITE_MS_HIDDEN = 400;

export type Dependencies = {
  readonly accounts: Pick<Accounts, 'findByEmail'>;
  readonly accountWork: Pick<AccountWork, 'ensure' | 'setPassword' | 'remove'>;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly throttle: Throttle;
  readonly signUpsPerHour: number;
};

/** Signing up, in and out, and what people do to their own account. */
export function makeAccountHandlers(
  deps: Dependencies,
): Handlers<'signUp' | 'signIn' | 'signOut' | 'readSession' | 'changePassword' | 'deleteAccount'> {
  const { accounts, accountWork, passwords, sessions, throttle } = deps;
  const signUps = { name: 'sign-up', countMax: deps.signUpsPerHour, windowMs: 60 * MINUTES_MS };

  /** @throws Problem `credentials-invalid`, `rate-limited` */
  const prove = async (
    account: Account | undefined,
    password: string,
    draws: readonly Draw[],
  ): Promise<Account> => {
    await throttle.take(draws);
    const isRight = await passwords.verify(password, account?.passwordHash);
    if (!account || !isRight)
      throw new Problem('credentials-invalid', 'E-mail address or password is wrong.');
    await throttle.giveBack(draws);
    return account;
  };
  const proveSelf = (account: Account, password: string) =>
    prove(account, password, [{ budget: TRIES_OF_ACCOUNT, whose: account.accountId }]);

  return {
    async signUp({ body: { email, password }, address }) {
      await throttle.take([{ budget: signUps, whose: address }]);
      const passwordHash = await passwords.hash(password);
      await Promise.all([accountWork.ensure(email, email, { passwordHash }), delay(WRITE_MS_HIDDEN)]);
      return {};
    },
    async signIn({ body: { email, password }, address, token, tellSession }) {
      const draws = [
        { budget: TRIES_OF_ONE, whose: `${address} ${email.toLowerCase()}` },
        { budget: TRIES_OF_ADDRESS, whose: address },
      ];
      const account = await prove(await accounts.findByEmail(email), password, draws);
      // Whatever session the browser had: it goes on with one that nobody can have known before.
      if (token !== undefined) await sessions.close(token);
      tellSession(await sessions.open(account));
      return { account: showAccount(account) };
    },
    async signOut({ token, tellSession }) {
      if (token !== undefined) await sessions.close(token);
      tellSession(undefined);
      return undefined;
    },
    readSession: async ({ account }) => ({ account: showAccount(account) }),
    async changePassword({ body: { current, next }, account, token, tellSession }) {
      await proveSelf(account, current);
      const passwordHash = await passwords.hash(next);
      const changed = await accountWork.setPassword(account.email, account.accountId, passwordHash);
      if (token !== undefined) await sessions.close(token);
      tellSession(await sessions.open(changed));
      return undefined;
    },
    async deleteAccount({ body: { password }, account, token, tellSession }) {
      await proveSelf(account, password);
      if (account.operator)
        throw new ServiceError('conflict', "an operator's account is deleted by `npm run admin`");
      await accountWork.remove(account.email, account.accountId);
      if (token !== undefined) await sessions.close(token);
      tellSession(undefined);
      return undefined;
    },
  };
}
