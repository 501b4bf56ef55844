import { setTimeout as delay } from 'node:timers/promises';
import type { Account } from '#shared/contracts/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Accounts } from '#shared/redis/accounts.ts';
import type { Draw, Throttle } from '#shared/redis/throttle.ts';
import type { AccountWork } from './account-work.ts';
import type { Handlers } from './call.ts';
import type { Passwords } from './passwords.ts';
import { presentAccount } from './present.ts';
import { Problem } from './problem.ts';
import type { Sessions } from './sessions.ts';

const MINUTES_MS = 60_000;
/** Allows a few typing errors and slows guessing down; a lockout applies only to the guesser's own address. */
const TRIES_OF_ONE = { name: 'sign-in', countMax: 10, windowMs: 15 * MINUTES_MS } as const;
const TRIES_OF_ADDRESS = { name: 'sign-in-address', countMax: 100, windowMs: 15 * MINUTES_MS } as const;
/** Limits password guesses from a signed-in session, such as a browser left open. */
const TRIES_OF_ACCOUNT = { name: 'password', countMax: 10, windowMs: 15 * MINUTES_MS } as const;
/**
 * Hashing a password takes a thread for 0.1 s, whether it is right or wrong, so this budget is not refunded. The budget
 * of an account counts right passwords only; otherwise anybody could use it up.
 */
const WORK_OF_ADDRESS = { name: 'password-work-address', countMax: 600, windowMs: 15 * MINUTES_MS } as const;
const WORK_OF_ACCOUNT = { name: 'password-work', countMax: 100, windowMs: 15 * MINUTES_MS } as const;
/** Every sign-up takes at least this long, so that its duration does not show whether the account existed. */
const WRITE_MS_HIDDEN = 400;

export type Dependencies = {
  readonly accounts: Pick<Accounts, 'findByEmail'>;
  readonly accountWork: Pick<AccountWork, 'ensure' | 'setPassword' | 'remove'>;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly throttle: Throttle;
  readonly signUpsPerHour: number;
};

/** Sign-up, sign-in, sign-out, and changes to one's own account. */
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
    // Charged for an unknown account too, so that the duration does not show whether the account exists.
    const workOfAccount = [{ budget: WORK_OF_ACCOUNT, whose: account?.accountId ?? `nobody ${address}` }];
    const draws = [...tries, { budget: WORK_OF_ADDRESS, whose: address }, ...workOfAccount];
    await throttle.take(draws);
    const isRight = await passwords.verify(password, account?.passwordHash, address).catch(async (error) => {
      // The password was not checked, so the attempt does not count.
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
      // A new token prevents session fixation: the browser's earlier session ends.
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
