import { setTimeout as delay } from 'node:timers/promises';
import type { Account } from '#shared/contracts/apps/client-app.ts';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Handlers } from '../../http/call.ts';
import { mustSetUpTwoFactor } from '../../http/guard.ts';
import { accountIdOf } from '../apps/credentials.ts';
import { PORTAL_ACTOR } from '../audit/present-audit.ts';
import { presentAccount } from '../present.ts';
import { findInvitation } from '../team/find-invitation.ts';
import type { ACCOUNT_OPERATIONS } from './account-operations.ts';
import type { Message } from './mailer.ts';
import { charge, WORK_OF_ADDRESS } from './prove-password.ts';

/** Allows a few typing errors and slows guessing down; a lockout applies only to the guesser's own
 * address. */
const TRIES_OF_ONE = { name: 'sign-in', countMax: 10, windowMs: HOUR_MS / 4 } as const;
const TRIES_OF_ADDRESS = { name: 'sign-in-address', countMax: 100, windowMs: HOUR_MS / 4 } as const;
/** Counted for every address that is typed, whether or not it has an account. */
const LINKS_OF_ONE = { name: 'reset-mail', countMax: 3, windowMs: HOUR_MS } as const;
const LINKS_OF_ADDRESS = { name: 'reset-mail-address', countMax: 20, windowMs: HOUR_MS } as const;
/** Every sign-up takes at least this long, so that its duration does not show whether the account
 * existed. */
const WRITE_MS_HIDDEN = 400;

/** Sign-up, sign-in, sign-out, and changes to one's own account. */
export function makeAccountHandlers(deps: Dependencies): Handlers<keyof typeof ACCOUNT_OPERATIONS> {
  const { accounts, accountWork, resetLinks, passwords, sessions, throttle, twoFactor, mail, config } = deps;
  const { auditAccess } = deps;
  const { prove, proveSelf } = deps.provePassword;
  const signUps = { name: 'sign-up', countMax: config.signUpsPerHour, windowMs: HOUR_MS };
  const presentSession = (account: Account) => ({
    account: { ...presentAccount(account), mustSetUpTwoFactor: mustSetUpTwoFactor(config, account) },
  });
  /** @throws Problem `sign-up-closed`, whether or not the address has an account */
  const requireMaySignUp = async (email: string, invitation: string, address: string): Promise<void> => {
    if (config.signUp === 'open') return;
    if (config.signUp === 'closed')
      throw new Problem('sign-up-closed', 'Only an operator of this service makes accounts.');
    const tries = [{ budget: TRIES_OF_ADDRESS, owner: address }];
    await throttle.take(tries);
    if (!(await findInvitation(deps, email, invitation)))
      throw new Problem(
        'sign-up-closed',
        'Only the invited may sign up. The invitation is missing, used, withdrawn, expired, or for another address.',
      );
    await throttle.refund(tries);
  };

  return {
    async signUp({ body: { email, password, invitation = '' }, address }) {
      await requireMaySignUp(email, invitation, address);
      const passwordHash = await charge(throttle, [{ budget: signUps, owner: address }], () =>
        passwords.hash(password, address),
      );
      await Promise.all([
        accountWork.ensure(accountIdOf(email), email, { passwordHash, verified: false }),
        delay(WRITE_MS_HIDDEN),
      ]);
      return {};
    },
    async signIn({ body: { email, password, code }, address, browser, token, setSessionToken }) {
      const tries = [
        { budget: TRIES_OF_ONE, owner: `${address} ${email.toLowerCase()}` },
        { budget: TRIES_OF_ADDRESS, owner: address },
      ];
      const known = await accounts.findByEmail(email);
      const from = `${browser}, ${address}`;
      const proveAll = async () => twoFactor.prove(await prove(known, password, address, tries), code);
      const account = await proveAll().catch((error: unknown) => {
        // Not awaited, so that the duration does not show whether the account exists.
        if (known && isWrong(error)) void auditAccess.signIn('sign-in-failed', known.accountId, from);
        throw error;
      });
      // A new token prevents session fixation: the browser's earlier session ends.
      if (token !== undefined) await sessions.close(token);
      setSessionToken(await sessions.open(account, { browser, address }));
      await auditAccess.signIn('signed-in', account.accountId, from);
      return presentSession(account);
    },
    async signOut({ token, setSessionToken }) {
      if (token !== undefined) await sessions.close(token);
      setSessionToken(undefined);
    },
    readSession: async ({ account }) => presentSession(account),
    async changePassword({ body: { current, next }, account, address, browser, token, setSessionToken }) {
      await proveSelf(account, current, address);
      const passwordHash = await passwords.hash(next, address);
      const changed = await accountWork.changePassword(account, passwordHash);
      if (token !== undefined) await sessions.close(token);
      setSessionToken(await sessions.open(changed, { browser, address }));
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
      const passwordHash = await charge(throttle, [{ budget: WORK_OF_ADDRESS, owner: address }], () =>
        passwords.hash(password, address),
      );
      await accountWork.changePassword(account, passwordHash, 'password-reset');
    },
    readSignInOptions: async () => ({ resetLinkByEmail: mail !== undefined, signUp: config.signUp }),
    async requestResetLink({ body: { email }, address }) {
      if (!mail)
        throw new ServiceError('conflict', 'this portal sends no e-mail; ask an operator for a link');
      await throttle.take([
        { budget: LINKS_OF_ONE, owner: email.toLowerCase() },
        { budget: LINKS_OF_ADDRESS, owner: address },
      ]);
      // The account is looked up after the answer, so that neither answer nor duration shows
      // whether it exists.
      mail.mailer.send(address, async () => {
        const account = await accounts.findByEmail(email);
        if (!account || account.operator) return undefined;
        const { token } = await resetLinks.make(PORTAL_ACTOR, account);
        return messageOf(account, `${mail.origin}/reset-password#${token}`);
      });
      return {};
    },
    async deleteAccount({ body: { password }, account, address, token, setSessionToken }) {
      await proveSelf(account, password, address);
      if (account.operator)
        throw new ServiceError('conflict', "an operator's account can only be deleted with `npm run admin`");
      await accountWork.remove(account.accountId, account.accountId);
      if (token !== undefined) await sessions.close(token);
      setSessionToken(undefined);
    },
  };
}

const isWrong = (error: unknown): boolean =>
  error instanceof Problem && (error.code === 'credentials-invalid' || error.code === 'code-invalid');

const messageOf = ({ email, twoFactor }: Account, link: string): Message => ({
  to: email,
  subject: 'Set a new password for Rolecall',
  text: `Somebody, probably you, asked for a new password for the Rolecall account ${email}.

Open this link to set it. It works once, for an hour:

${link}

All sessions end with the new password.${twoFactor ? ' Signing in still needs a code of your authenticator app.' : ''}
If you did not ask for it, ignore this message: your password stays as it is.
`,
});
