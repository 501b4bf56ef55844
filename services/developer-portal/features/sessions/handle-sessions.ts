import type { Account } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Call, Handlers } from '../../http/call.ts';
import type { SESSION_OPERATIONS } from './session-operations.ts';
import { sessionIdOf } from './sessions.ts';

type Ids = keyof typeof SESSION_OPERATIONS;

/**
 * An account's own sessions, and its second factor: changing that needs the password, and the code
 * once it is on.
 */
export function makeSessionHandlers({ sessions, twoFactor, provePassword }: Dependencies): Handlers<Ids> {
  /** All sessions have ended with the change; this one continues under a new token. */
  const reopen = async (account: Account, { token, browser, address, setSessionToken }: Call<Ids>) => {
    if (token !== undefined) await sessions.close(token);
    setSessionToken(await sessions.open(account, { browser, address }));
  };
  const proveBoth = async (call: Call<'disableTwoFactor' | 'renewRecoveryCodes'>) => {
    const { account, body } = call;
    if (!account.twoFactor) throw new ServiceError('conflict', 'two-factor authentication is off');
    await provePassword.proveSelf(call, body.password);
    return twoFactor.prove(account, body.code);
  };
  return {
    async listSessions({ account, token = '' }) {
      const own = sessionIdOf(token);
      const found = await sessions.list(account);
      return found.map((session) => ({ ...session, current: session.sessionId === own }));
    },
    async endSession({ account, param }) {
      if (!(await sessions.end(account, param('sessionId'))))
        throw new ServiceError('not-found', 'there is no such session');
    },
    async endOtherSessions({ account, token = '' }) {
      await sessions.endOthers(account, token);
    },
    async beginTwoFactor(call) {
      await provePassword.proveSelf(call, call.body.password);
      return twoFactor.begin(call.account);
    },
    async enableTwoFactor(call) {
      const { account, recoveryCodes } = await twoFactor.enable(call.account, call.body.code);
      await reopen(account, call);
      return { recoveryCodes };
    },
    renewRecoveryCodes: async (call) => ({
      recoveryCodes: await twoFactor.renewRecoveryCodes(await proveBoth(call)),
    }),
    async disableTwoFactor(call) {
      const account = await proveBoth(call);
      await reopen(await twoFactor.disable(account.accountId, account, 'two-factor-disabled'), call);
    },
  };
}
