import type { Account } from '#shared/contracts/apps/client-app.ts';
import type { Draw, Throttle } from '#shared/fairness/throttle.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Passwords } from './passwords.ts';

const MINUTES_MS = 60_000;
/** Limits password guesses from a signed-in session, such as a browser left open. */
const TRIES_OF_ACCOUNT = { name: 'password', countMax: 10, windowMs: 15 * MINUTES_MS } as const;
/**
 * Hashing a password takes a thread for 0.1 s, whether it is right or wrong, so this budget is not refunded. The budget
 * of an account counts right passwords only; otherwise a stranger could use it up.
 */
export const WORK_OF_ADDRESS = {
  name: 'password-work-address',
  countMax: 600,
  windowMs: 15 * MINUTES_MS,
} as const;
const WORK_OF_ACCOUNT = { name: 'password-work', countMax: 100, windowMs: 15 * MINUTES_MS } as const;

type Dependencies = {
  readonly passwords: Pick<Passwords, 'verify'>;
  readonly throttle: Throttle;
};

export type ProvePassword = {
  /**
   * Returns the account if the password is right.
   *
   * @param tries charged for a wrong password
   * @throws Problem `credentials-invalid`; ServiceError `rate-limited`, `overloaded`
   */
  readonly prove: (
    account: Account | undefined,
    password: string,
    address: string,
    tries: readonly Draw[],
  ) => Promise<Account>;
  /** The same for the account of a session. */
  readonly proveSelf: (account: Account, password: string, address: string) => Promise<Account>;
};

/**
 * Checks passwords within budgets of tries and of work.
 *
 * @example
 * await provePassword.proveSelf(account, body.password, address);
 */
export function makeProvePassword({ passwords, throttle }: Dependencies): ProvePassword {
  const prove: ProvePassword['prove'] = async (account, password, address, tries) => {
    // Charged for an unknown account too, so that the duration does not show whether the account exists.
    const workOfAccount = [{ budget: WORK_OF_ACCOUNT, owner: account?.accountId ?? `nobody ${address}` }];
    const draws = [...tries, { budget: WORK_OF_ADDRESS, owner: address }, ...workOfAccount];
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
  return {
    prove,
    proveSelf: (account, password, address) =>
      prove(account, password, address, [{ budget: TRIES_OF_ACCOUNT, owner: account.accountId }]),
  };
}
