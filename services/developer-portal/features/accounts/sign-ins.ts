import type { Account } from '#shared/contracts/apps/client-app.ts';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Dependencies } from '../../dependencies.ts';
import { mustSetUpTwoFactor } from '../../http/guard.ts';
import type { Call, OperationId } from '../../http/operations.ts';
import { presentAccount } from '../present.ts';
import { findInvitation } from '../team/change-members.ts';

export const TRIES_OF_ADDRESS = {
  name: 'sign-in-address',
  countMax: 100,
  windowMs: HOUR_MS / 4,
} as const;

/** The common steps of signing in and up, by password and at the identity provider. */
export function makeSignIns(deps: Dependencies) {
  const { throttle, auditAccess, config } = deps;
  const presentSession = (account: Account) => ({
    account: {
      ...presentAccount(account),
      ...(deps.mail && { notices: !account.noNotices }),
      mustSetUpTwoFactor: mustSetUpTwoFactor(config, account),
    },
  });
  return {
    presentSession,
    /**
     * Opens a session, and records that or the failure.
     *
     * @param known the account that is signed in to; undefined if there is none
     * @param prove returns the account; throws the refusal of the sign-in
     */
    async openSession(
      known: Account | undefined,
      prove: () => Promise<Account>,
      { browser, address, setSession }: Call<OperationId>,
    ) {
      const from = `${browser}, ${address}`;
      const account = await prove().catch((error: unknown) => {
        // Not awaited, so that the duration does not show whether the account exists.
        if (known && isWrong(error)) void auditAccess.signIn('sign-in-failed', known.accountId, from);
        throw error;
      });
      // A new token prevents session fixation: the browser's earlier session ends.
      await setSession(account);
      await auditAccess.signIn('signed-in', account.accountId, from);
      return presentSession(account);
    },
    /** @throws Problem `sign-up-closed`, whether or not the address has an account */
    async requireMaySignUp(email: string, invitation: string, { accountId }: AppOwner): Promise<void> {
      if (config.signUp === 'open') return;
      if (config.signUp === 'closed')
        throw new Problem('sign-up-closed', 'Only an operator of this service makes accounts.');
      const tries = [{ budget: TRIES_OF_ADDRESS, owner: accountId }];
      await throttle.take(tries);
      if (!(await findInvitation(deps, email, invitation)))
        throw new Problem(
          'sign-up-closed',
          'Only the invited may sign up. The invitation is missing, used, withdrawn, expired, or for another address.',
        );
      await throttle.refund(tries);
    },
  };
}

const isWrong = (error: unknown): boolean =>
  error instanceof Problem && (error.code === 'credentials-invalid' || error.code === 'code-invalid');
