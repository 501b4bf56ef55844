import type { Account } from '#shared/contracts/apps/client-app.ts';
import { MINUTE_MS } from '#shared/contracts/durations.ts';
import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import type { Draw, Throttle } from '#shared/fairness/throttle.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Call, OperationId } from '../../http/operations.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Passwords } from './passwords.ts';

/** Limits password guesses from a signed-in session, such as a browser left open. */
const TRIES_OF_ACCOUNT = { name: 'password', countMax: 10, windowMs: 15 * MINUTE_MS } as const;
/**
 * Hashing a password takes a thread for 0.1 s, whether it is right or wrong, so this budget is not
 * refunded. The budget of an account counts right passwords only; otherwise a stranger could use it
 * up.
 */
export const WORK_OF_ADDRESS = {
  name: 'password-work-address',
  countMax: 600,
  windowMs: 15 * MINUTE_MS,
} as const;
const WORK_OF_ACCOUNT = { name: 'password-work', countMax: 100, windowMs: 15 * MINUTE_MS } as const;

/** A sign-in that is younger proves as much as a password, for an account that has none. */
const RECENT_MS = 5 * MINUTE_MS;

/** Charges for work. Work that failed was not done, so it is not charged. */
export async function charge<T>(
  throttle: Throttle,
  draws: readonly Draw[],
  work: () => Promise<T>,
): Promise<T> {
  await throttle.take(draws);
  try {
    return await work();
  } catch (error) {
    await throttle.refund(draws);
    throw error;
  }
}

type Dependencies = {
  readonly passwords: Pick<Passwords, 'verify'>;
  readonly sessions: Pick<Sessions, 'list'>;
  readonly throttle: Throttle;
  readonly now: () => number;
};

/**
 * Checks passwords within budgets of tries and of work.
 */
export function makeProvePassword({ passwords, sessions, throttle, now }: Dependencies) {
  /**
   * Returns the account if the password is right.
   *
   * @param tries charged for a wrong password
   * @throws Problem `credentials-invalid`; ServiceError `rate-limited`, `overloaded`
   */
  const prove = async (
    account: Account | undefined,
    password: string,
    visitor: AppOwner,
    tries: readonly Draw[],
  ): Promise<Account> => {
    // Charged for an unknown account too, so that the duration does not show whether the account
    // exists.
    const workOfAccount = [
      { budget: WORK_OF_ACCOUNT, owner: account?.accountId ?? `nobody ${visitor.accountId}` },
    ];
    const draws = [...tries, { budget: WORK_OF_ADDRESS, owner: visitor.accountId }, ...workOfAccount];
    const isRight = await charge(throttle, draws, () =>
      passwords.verify(password, account?.passwordHash, visitor),
    );
    await throttle.refund(isRight ? tries : workOfAccount);
    if (!account || !isRight)
      throw new Problem('credentials-invalid', 'E-mail address or password is wrong.');
    return account;
  };
  return {
    prove,
    /** The same for the account of a session. Without a password the session must be new. */
    async proveSelf(
      { account, token, visitor }: Pick<Call<OperationId>, 'account' | 'token' | 'visitor'>,
      password = '',
    ): Promise<void> {
      if (account.passwordHash !== undefined) {
        await prove(account, password, visitor, [{ budget: TRIES_OF_ACCOUNT, owner: account.accountId }]);
        return;
      }
      const own = (await sessions.list(account, token)).find(({ current }) => current);
      if (!own || Date.parse(own.startedAt) + RECENT_MS < now())
        throw new Problem(
          'credentials-invalid',
          'Sign out, sign in again at your identity provider, and repeat this within five minutes.',
        );
    },
  };
}
