import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { type AppState, refuseApp } from '#shared/contracts/apps/refuse-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Accounts } from '#shared/stores/apps/accounts.ts';
import { isAllowed, type Permission, roleOf } from '../../domain/permissions.ts';
import type { ClientAppWork } from './client-apps.ts';

type Dependencies = {
  readonly apps: Pick<ClientAppWork, 'read'>;
  readonly accounts: Pick<Accounts, 'read'>;
};

/** Reads an app for its owner or a member. Any other app answers `not-found`, like an app that does not exist. */
export type ReadOwn = (account: Account, clientId: string) => Promise<ClientApp>;

export const makeReadOwn =
  ({ apps }: Pick<Dependencies, 'apps'>): ReadOwn =>
  async (account, clientId) => {
    const app = await apps.read(clientId);
    if (!roleOf(app, account)) throw new ServiceError('not-found', `there is no client app ${clientId}`);
    return app;
  };

/**
 * Checks that an account may do something to an app.
 *
 * @param needs the state that the app must have; absent if any will do
 * @returns the account that owns the app, whose limits count
 * @throws Problem `role-required`, `client-app-suspended`, `scope-not-approved`; ServiceError `not-found`
 */
export type RequirePermission = (
  account: Account,
  clientId: string,
  permission: Permission,
  needs?: AppState,
) => Promise<Account>;

/**
 * The one place where permissions are checked: before the handler of every operation on an app.
 *
 * @example
 * const owner = await requirePermission(account, 'app_1', 'manage');
 */
export function makeRequirePermission({ apps, accounts }: Dependencies): RequirePermission {
  const readOwn = makeReadOwn({ apps });
  return async (account, clientId, permission, needs) => {
    const app = await readOwn(account, clientId);
    const role = roleOf(app, account);
    if (!role || !isAllowed(role, permission))
      throw new Problem('role-required', `Your role in this app, ${role}, does not allow this.`);
    const refused = needs && refuseApp(app, needs);
    if (refused) throw new Problem(refused.code, refused.detail);
    if (role === 'owner') return account;
    const owner = await accounts.read(app.accountId);
    if (!owner) throw new ServiceError('not-found', `there is no client app ${clientId}`);
    return owner;
  };
}
