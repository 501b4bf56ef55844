import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { enterpriseLimits } from '#shared/contracts/apps/tiers.ts';
import { ServiceError } from '#shared/errors.ts';
import { validationFailed } from '#shared/http/problem.ts';
import type { Accounts } from '#shared/stores/apps/accounts.ts';
import type { ClientApps } from '#shared/stores/apps/client-apps.ts';
import type { Handlers } from '../../http/call.ts';
import type { AccountWork } from '../accounts/account-work.ts';
import type { ResetLinks } from '../accounts/reset-links.ts';
import type { ClientAppWork } from '../apps/client-apps.ts';
import { presentAccount, presentOperatorApp } from '../present.ts';
import type { TwoFactorWork } from '../sessions/two-factor.ts';

type Dependencies = {
  readonly accounts: Pick<Accounts, 'read'>;
  readonly clientApps: Pick<ClientApps, 'list' | 'countOwned'>;
  readonly apps: Pick<ClientAppWork, 'approveScope' | 'rejectScope' | 'suspend' | 'resume'>;
  readonly accountWork: Pick<AccountWork, 'setTier'>;
  readonly resetLinks: Pick<ResetLinks, 'make'>;
  readonly twoFactor: Pick<TwoFactorWork, 'disable'>;
  readonly countDeadLetters: () => Promise<{ topic: string; count: number }[]>;
};

type Ids =
  | 'listScopeRequests'
  | 'approveScope'
  | 'rejectScope'
  | 'suspendApp'
  | 'resumeApp'
  | 'setTier'
  | 'makeResetLink'
  | 'resetTwoFactor'
  | 'countDeadLetters';

/** Operators' operations on accounts, apps and scopes. */
export function makeOperatorHandlers(deps: Dependencies): Handlers<Ids> {
  const { accounts, clientApps, apps, accountWork } = deps;
  const show = async (app: ClientApp) => presentOperatorApp(app, await accounts.read(app.accountId));
  const showOwner = async (account: Account) => ({
    ...presentAccount(account),
    apps: await clientApps.countOwned(account.accountId),
  });

  /** The account of a user who is not an operator: one operator must not take over another's account. */
  const developer = async (accountId: string, what: string): Promise<Account> => {
    const target = await accounts.read(accountId);
    if (!target || target.deletedAt !== undefined)
      throw new ServiceError('not-found', 'there is no such account');
    if (target.operator)
      throw new ServiceError('conflict', `an operator's ${what} can only be reset with \`npm run admin\``);
    return target;
  };

  return {
    async listScopeRequests() {
      const waiting = await clientApps.list((app) => {
        if (app.scope !== 'requested') return [];
        const { clientId, name, accountId, scopePurpose: purpose = '', createdAt } = app;
        return [{ clientId, name, accountId, purpose, requestedAt: app.scopeRequestedAt ?? createdAt }];
      });
      const shown = await Promise.all(
        waiting.flat().map(async ({ accountId, ...request }) => ({
          ...request,
          email: (await accounts.read(accountId))?.email ?? '',
        })),
      );
      return shown.sort((a, b) => a.requestedAt.localeCompare(b.requestedAt));
    },
    approveScope: async ({ account, param }) =>
      show(await apps.approveScope(account.email, param('clientId'))),
    rejectScope: async ({ account, param, body }) =>
      show(await apps.rejectScope(account.email, param('clientId'), body.reason)),
    suspendApp: async ({ account, param }) => show(await apps.suspend(account.email, param('clientId'))),
    resumeApp: async ({ account, param }) => show(await apps.resume(account.email, param('clientId'))),
    async setTier({ account, param, body: { tier, limits } }) {
      if (tier !== 'enterprise' && limits !== undefined)
        throw validationFailed([
          {
            pointer: '/limits',
            code: 'not-of-tier',
            detail: 'Only enterprise accounts have limits of their own.',
          },
        ]);
      const figures = tier === 'enterprise' ? enterpriseLimits(limits ?? {}) : undefined;
      return showOwner(await accountWork.setTier(account.email, param('accountId'), tier, figures));
    },
    makeResetLink: async ({ account, param }) =>
      deps.resetLinks.make(account.email, await developer(param('accountId'), 'password')),
    async resetTwoFactor({ account, param }) {
      const target = await developer(param('accountId'), 'second factor');
      await deps.twoFactor.disable(account.email, target, 'two-factor-reset');
      return undefined;
    },
    countDeadLetters: deps.countDeadLetters,
  };
}
