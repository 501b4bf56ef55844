import { setTimeout as delay } from 'node:timers/promises';
import type { Account } from '#shared/contracts/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Accounts } from '#shared/redis/accounts.ts';
import type { AccountWork } from './account-work.ts';
import type { Handlers } from './call.ts';
import type { Passwords } from './passwords.ts';
import { presentAccount } from './present.ts';
import { Problem } from './problem.ts';
import type { Sessions } from './sessions.ts';
import type { Draw, Throttle } from './throttle.ts';

const MINUTES_MS = 60_000;
/** A person mistypes a few times; who guesses is slowed down, and locks nobody out but at their own address. */
const TRIES_OF_ONE = { name: 'sign-in', countMax: 10, windowMs: 15 * MINUTES_MS } as const;
const TRIES_OF_ADDRESS = { name: 'sign-in-address', countMax: 100, windowMs: 15 * MINUTES_MS } as const;
/** Of somebody who is signed in already: whoever found an open browser. */
const TRIES_OF_ACCOUNT = { name: 'password', countMax: 10, windowMs: 15 * MINUTES_MS } as const;
/**
 * A password that is worked on takes a thread for 0.1 s, a right one as a wrong one: so this is given back to nobody.
 * Those of an account are counted where the password was right, or anybody could use them up.
 */
const WORK_OF_ADDRESS = { name: 'password-work-address', countMax: 600, windowMs: 15 * MINUTES_MS } as const;
const WORK_OF_ACCOUNT = { name: 'password-work', countMax: 100, windowMs: 15 * MINUTES_MS } as const;
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
    address: string,
    tries: readonly Draw[],
  ): Promise<Account> => {
    // Drawn for an unknown account too, so that nobody learns from the time whether there is one.
    const workOfAccount = [{ budget: WORK_OF_ACCOUNT, whose: account?.accountId ?? `nobody ${address}` }];
    const draws = [...tries, { budget: WORK_OF_ADDRESS, whose: address }, ...workOfAccount];
    await throttle.take(draws);
    const isRight = await passwords.verify(password, account?.passwordHash, address).catch(async (error) => {
      // It was not looked at, so it was no try.
      await throttle.refund(draws);
      throw error;
    });
    await throttle.refund(isRight ? tries : workOfAccount);
    if (!account || !isRight)
      throw new Problem('credentials-invalid', 'E-mail address or password is wrong.');
    return account;
  };
  const proveSelf = (account: Account, password: string, address: string) =>
    prove(account, password, address, [{ budget: TRIES_OF_ACCOUNT, whose: account.accountId }]);

  return {
    async signUp({ body: { email, password }, address }) {
      const draws = [{ budget: signUps, whose: address }];
      await throttle.take(draws);
      const passwordHash = await passwords.hash(password, address).catch(async (error) => {
        await throttle.refund(draws);
        throw error;
      });
      await Promise.all([
        accountWork.ensure(email, email, { passwordHash, verified: false }),
        delay(WRITE_MS_HIDDEN),
      ]);
      return {};
    },
    async signIn({ body: { email, password }, address, token, setSessionToken }) {
      const tries = [
        { budget: TRIES_OF_ONE, whose: `${address} ${email.toLowerCase()}` },
        { budget: TRIES_OF_ADDRESS, whose: address },
      ];
      const account = await prove(await accounts.findByEmail(email), password, address, tries);
      // Whatever session the browser had: it goes on with one that nobody can have known before.
      if (token !== undefined) await sessions.close(token);
      setSessionToken(await sessions.open(account));
      return { account: presentAccount(account) };
    },
    async signOut({ token, setSessionToken }) {
      if (token !== undefined) await sessions.close(token);
      setSessionToken(undefined);
      return undefined;
    },
    readSession: async ({ account }) => ({ account: presentAccount(account) }),
    async changePassword({ body: { current, next }, account, address, token, setSessionToken }) {
      await proveSelf(account, current, address);
      const passwordHash = await passwords.hash(next, address);
      const changed = await accountWork.setPassword(account.email, account.accountId, passwordHash);
      if (token !== undefined) await sessions.close(token);
      setSessionToken(await sessions.open(changed));
      return undefined;
    },
    async deleteAccount({ body: { password }, account, address, token, setSessionToken }) {
      await proveSelf(account, password, address);
      if (account.operator)
        throw new ServiceError('conflict', "an operator's account is deleted by `npm run admin`");
      await accountWork.remove(account.email, account.accountId);
      if (token !== undefined) await sessions.close(token);
      setSessionToken(undefined);
      return undefined;
    },
  };
}
