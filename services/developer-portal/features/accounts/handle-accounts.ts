import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '#shared/errors.ts';
import type { Throttle } from '#shared/fairness/throttle.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Accounts } from '#shared/stores/apps/accounts.ts';
import type { Handlers } from '../../http/call.ts';
import { presentAccount } from '../present.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { TwoFactorWork } from '../sessions/two-factor.ts';
import type { AccountWork } from './account-work.ts';
import type { Passwords } from './passwords.ts';
import { makeProvePassword, WORK_OF_ADDRESS } from './prove-password.ts';
import type { ResetLinks } from './reset-links.ts';

const MINUTES_MS = 60_000;
/** Allows a few typing errors and slows guessing down; a lockout applies only to the guesser's own address. */
const TRIES_OF_ONE = { name: 'sign-in', countMax: 10, windowMs: 15 * MINUTES_MS } as const;
const TRIES_OF_ADDRESS = { name: 'sign-in-address', countMax: 100, windowMs: 15 * MINUTES_MS } as const;
/** Every sign-up takes at least this long, so that its duration does not show whether the account existed. */
const WRITE_MS_HIDDEN = 400;

type Dependencies = {
  readonly accounts: Pick<Accounts, 'findByEmail'>;
  readonly accountWork: Pick<AccountWork, 'ensure' | 'changePassword' | 'replacePassword' | 'remove'>;
  readonly resetLinks: Pick<ResetLinks, 'find'>;
  readonly passwords: Passwords;
  readonly sessions: Pick<Sessions, 'open' | 'close'>;
  readonly throttle: Throttle;
  readonly twoFactor: Pick<TwoFactorWork, 'prove'>;
  readonly signUpsPerHour: number;
};

/** Sign-up, sign-in, sign-out, and changes to one's own account. */
export function makeAccountHandlers(
  deps: Dependencies,
): Handlers<
  'signUp' | 'signIn' | 'signOut' | 'readSession' | 'changePassword' | 'resetPassword' | 'deleteAccount'
> {
  const { accounts, accountWork, resetLinks, passwords, sessions, throttle, twoFactor } = deps;
  const signUps = { name: 'sign-up', countMax: deps.signUpsPerHour, windowMs: 60 * MINUTES_MS };

  const { prove, proveSelf } = makeProvePassword(deps);

  return {
    async signUp({ body: { email, password }, address }) {
      const draws = [{ budget: signUps, owner: address }];
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
    async signIn({ body: { email, password, code }, address, browser, token, setSessionToken }) {
      const tries = [
        { budget: TRIES_OF_ONE, owner: `${address} ${email.toLowerCase()}` },
        { budget: TRIES_OF_ADDRESS, owner: address },
      ];
      const known = await prove(await accounts.findByEmail(email), password, address, tries);
      const account = await twoFactor.prove(known, code);
      // A new token prevents session fixation: the browser's earlier session ends.
      if (token !== undefined) await sessions.close(token);
      setSessionToken(await sessions.open(account, { browser, address }));
      return { account: presentAccount(account) };
    },
    async signOut({ token, setSessionToken }) {
      if (token !== undefined) await sessions.close(token);
      setSessionToken(undefined);
      return undefined;
    },
    readSession: async ({ account }) => ({ account: presentAccount(account) }),
    async changePassword({ body: { current, next }, account, address, browser, token, setSessionToken }) {
      await proveSelf(account, current, address);
      const passwordHash = await passwords.hash(next, address);
      const changed = await accountWork.changePassword(account, passwordHash);
      if (token !== undefined) await sessions.close(token);
      setSessionToken(await sessions.open(changed, { browser, address }));
      return undefined;
    },
    async resetPassword({ body: { token, password }, address }) {
      const tries = [{ budget: TRIES_OF_ADDRESS, owner: address }];
      await throttle.take(tries);
      const account = await resetLinks.find(token);
      if (!account)
        throw new Problem(
          'reset-link-invalid',
          'The link is wrong, was used or replaced, or is older than an hour. Ask an operator for a new one.',
        );
      // The attempt was right; from here on only the work counts.
      await throttle.refund(tries);
      const work = [{ budget: WORK_OF_ADDRESS, owner: address }];
      await throttle.take(work);
      const passwordHash = await passwords.hash(password, address).catch(async (error) => {
        await throttle.refund(work);
        throw error;
      });
      await accountWork.replacePassword(account, passwordHash);
      return undefined;
    },
    async deleteAccount({ body: { password }, account, address, token, setSessionToken }) {
      await proveSelf(account, password, address);
      if (account.operator)
        throw new ServiceError('conflict', "an operator's account can only be deleted with `npm run admin`");
      await accountWork.remove(account.email, account.accountId);
      if (token !== undefined) await sessions.close(token);
      setSessionToken(undefined);
      return undefined;
    },
  };
}
