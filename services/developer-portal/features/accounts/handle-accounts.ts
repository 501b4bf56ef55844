import { setTimeout as delay } from 'node:timers/promises';
import type { Account } from '#shared/contracts/apps/client-app.ts';
import { DAY_MS, HOUR_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Call, Handlers } from '../../http/operations.ts';
import { accountIdOf } from '../apps/credentials.ts';
import { PORTAL_ACTOR } from '../audit/present-audit.ts';
import type { ACCOUNT_OPERATIONS } from './account-operations.ts';
import { requireOwnPassword } from './account-work.ts';
import type { Message } from './mailer.ts';
import { charge, WORK_OF_ADDRESS } from './prove-password.ts';
import { makeSignIns, TRIES_OF_ADDRESS } from './sign-ins.ts';

/** Allows a few typing errors and slows guessing down; a lockout applies only to the guesser's own
 * address. */
const TRIES_OF_ONE = { name: 'sign-in', countMax: 10, windowMs: HOUR_MS / 4 } as const;
/** Counted for every address that is typed, whether or not it has an account. */
const LINKS_OF_ONE = { name: 'reset-mail', countMax: 3, windowMs: HOUR_MS } as const;
/** Anybody can sign up with an address of others, and then have mail sent to it. */
const LINKS_OF_DAY = { name: 'reset-mail-day', countMax: 6, windowMs: DAY_MS } as const;
const LINKS_OF_ADDRESS = { name: 'reset-mail-address', countMax: 20, windowMs: HOUR_MS } as const;
/** Every sign-up takes at least this long, so that its duration does not show whether the account
 * existed. */
const WRITE_MS_HIDDEN = 400;

export function makeAccountHandlers(deps: Dependencies): Handlers<keyof typeof ACCOUNT_OPERATIONS> {
  const { accounts, accountWork, resetLinks, passwords, sessions, throttle, twoFactor, mail, config } = deps;
  const { prove, proveSelf } = deps.provePassword;
  const signUps = { name: 'sign-up', countMax: config.signUpsPerHour, windowMs: HOUR_MS };
  const { presentSession, openSession, requireMaySignUp } = makeSignIns(deps);

  /** The password, and the code of the second factor that is on. */
  const proveBoth = async (call: Call<'disableTwoFactor' | 'renewRecoveryCodes'>) => {
    const { account, body } = call;
    if (!account.twoFactor) throw new ServiceError('conflict', 'two-factor authentication is off');
    await proveSelf(call, body.password);
    return twoFactor.prove(account, body.code);
  };
  return {
    async signUp({ body: { email, password, invitation = '' }, visitor }) {
      await requireMaySignUp(email, invitation, visitor);
      const passwordHash = await charge(throttle, [{ budget: signUps, owner: visitor.accountId }], () =>
        passwords.hash(password, visitor),
      );
      await Promise.all([
        accountWork.ensure(accountIdOf(email), email, { passwordHash, verified: false }),
        delay(WRITE_MS_HIDDEN),
      ]);
    },
    async signIn(call) {
      const { email, password, code } = call.body;
      const { visitor } = call;
      const tries = [
        { budget: TRIES_OF_ONE, owner: `${visitor.accountId} ${email.toLowerCase()}` },
        { budget: TRIES_OF_ADDRESS, owner: visitor.accountId },
      ];
      const known = await accounts.findByEmail(email);
      const proveAll = async () => twoFactor.prove(await prove(known, password, visitor, tries), code);
      return openSession(known, proveAll, call);
    },
    signOut: ({ setSession }) => setSession(undefined),
    readSession: async ({ account }) => presentSession(account),
    async changePassword(call) {
      const { body, account, visitor } = call;
      requireOwnPassword(account);
      await proveSelf(call, body.current);
      const passwordHash = await passwords.hash(body.next, visitor);
      await call.setSession(await accountWork.changePassword(account, passwordHash));
    },
    async resetPassword({ body: { token, password }, visitor }) {
      const tries = [{ budget: TRIES_OF_ADDRESS, owner: visitor.accountId }];
      await throttle.take(tries);
      const account = await resetLinks.find(token);
      if (!account)
        throw new Problem(
          'reset-link-invalid',
          'The link is wrong, was used or replaced, or is older than an hour. Ask an operator for a new one.',
        );
      // The attempt was right; from here on only the work counts.
      await throttle.refund(tries);
      const passwordHash = await charge(
        throttle,
        [{ budget: WORK_OF_ADDRESS, owner: visitor.accountId }],
        () => passwords.hash(password, visitor),
      );
      await accountWork.changePassword(account, passwordHash, 'password-reset');
    },
    readSignInOptions: async () => ({
      resetLinkByEmail: mail !== undefined,
      signUp: config.signUp,
      singleSignOn: deps.identityProvider !== undefined,
    }),
    async requestResetLink({ body: { email }, visitor }) {
      if (!mail)
        throw new ServiceError('conflict', 'this portal sends no e-mail; ask an operator for a link');
      await throttle.take([
        { budget: LINKS_OF_ONE, owner: email.toLowerCase() },
        { budget: LINKS_OF_DAY, owner: email.toLowerCase() },
        { budget: LINKS_OF_ADDRESS, owner: visitor.accountId },
      ]);
      // The account is looked up after the answer, so that neither answer nor duration shows
      // whether it exists.
      void mail.mailer.send(visitor, async () => {
        const account = await accounts.findByEmail(email);
        if (!account || account.operator || account.singleSignOn !== undefined) return undefined;
        const { token } = await resetLinks.make(PORTAL_ACTOR, account);
        return messageOf(account, `${mail.origin}/reset-password#${token}`);
      });
    },
    async setNotices({ body: { enabled }, account }) {
      if (!mail) throw new ServiceError('conflict', 'this portal sends no e-mail');
      await accountWork.setNotices(account.accountId, enabled);
    },
    async deleteAccount(call) {
      const { account } = call;
      await proveSelf(call, call.body.password);
      if (account.operator)
        throw new ServiceError('conflict', "an operator's account can only be deleted with `npm run admin`");
      await accountWork.remove(account.accountId, account.accountId);
      await call.setSession(undefined);
    },
    listSessions: ({ account, token }) => sessions.list(account, token),
    async endSession({ account, param }) {
      if (!(await sessions.end(account, param('sessionId'))))
        throw new ServiceError('not-found', 'there is no such session');
    },
    async endOtherSessions({ account, token = '' }) {
      await sessions.endOthers(account, token);
    },
    async beginTwoFactor(call) {
      await proveSelf(call, call.body.password);
      return twoFactor.begin(call.account);
    },
    async enableTwoFactor(call) {
      const { account, recoveryCodes } = await twoFactor.enable(call.account, call.body.code);
      // All sessions have ended with the change; this one continues under a new token.
      await call.setSession(account);
      return { recoveryCodes };
    },
    renewRecoveryCodes: async (call) => ({
      recoveryCodes: await twoFactor.renewRecoveryCodes(await proveBoth(call)),
    }),
    async disableTwoFactor(call) {
      await call.setSession(await twoFactor.disable(await proveBoth(call)));
    },
  };
}

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
