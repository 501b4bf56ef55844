import type { Account } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';

/**
 * Whether an operator knows the owner of the account. A stranger can sign up with another person's address, so an account
 * that signed up is not verified until an operator vouches for it. An account without a password was made by an operator, so it is verified.
 *
 * @example
 * isVerified({ passwordHash: '$scrypt$…' }); // false: the owner is not known
 */
export const isVerified = ({ verified, passwordHash }: Pick<Account, 'verified' | 'passwordHash'>): boolean =>
  verified ?? passwordHash === undefined;

/** @throws ServiceError `account-unverified` */
export function requireVerified(account: Account, vouch: boolean): void {
  if (vouch || isVerified(account)) return;
  throw new ServiceError(
    'account-unverified',
    `${account.email} signed up by itself, so its owner is unverified; add --vouch if you know the owner`,
  );
}
