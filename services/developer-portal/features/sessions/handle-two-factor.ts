import type { Account } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Call, Handlers } from '../../http/call.ts';
import type { ProvePassword } from '../accounts/prove-password.ts';
import type { Sessions } from './sessions.ts';
import type { TwoFactorWork } from './two-factor.ts';
import type { TWO_FACTOR_OPERATIONS } from './two-factor-operations.ts';

type Dependencies = {
  readonly twoFactor: TwoFactorWork;
  readonly provePassword: Pick<ProvePassword, 'proveSelf'>;
  readonly sessions: Pick<Sessions, 'open' | 'close'>;
};

type Ids = keyof typeof TWO_FACTOR_OPERATIONS;

/** The second factor of one's own account. Changing it needs the password, and the code once it is on. */
export function makeTwoFactorHandlers({ twoFactor, provePassword, sessions }: Dependencies): Handlers<Ids> {
  /** All sessions have ended with the change; this one continues under a new token. */
  const reopen = async (account: Account, { token, browser, address, setSessionToken }: Call<Ids>) => {
    if (token !== undefined) await sessions.close(token);
    setSessionToken(await sessions.open(account, { browser, address }));
  };
  const proveBoth = async ({ account, body, address }: Call<'disableTwoFactor' | 'renewRecoveryCodes'>) => {
    if (!account.twoFactor) throw new ServiceError('conflict', 'two-factor authentication is off');
    await provePassword.proveSelf(account, body.password, address);
    return twoFactor.prove(account, body.code);
  };
  return {
    async beginTwoFactor({ account, body, address }) {
      await provePassword.proveSelf(account, body.password, address);
      return twoFactor.begin(account);
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
      await reopen(await twoFactor.disable(account.email, account, 'two-factor-disabled'), call);
      return undefined;
    },
  };
}
