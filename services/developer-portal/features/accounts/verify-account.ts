import type { Account } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';

/**
 * Refuses an account that signed up by itself, unless an operator vouches for it: a stranger can sign up with another person's
 * address.
 *
 * @throws ServiceError `account-unverified`
 */
export function requireVerified({ email, verified }: Account, vouch: boolean): void {
  if (vouch || verified) return;
  throw new ServiceError(
    'account-unverified',
    `${email} signed up by itself, so its owner is unverified; add --vouch if you know the owner`,
  );
}
