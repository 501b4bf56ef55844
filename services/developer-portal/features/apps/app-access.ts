import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { type AppState, refuseApp } from '#shared/contracts/apps/refuse-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { Problem } from '#shared/http/problem.ts';
import { isAllowed, type Permission, roleOf } from '../../domain/permissions.ts';
import type { Work } from '../work.ts';

/**
 * The one place where permissions are checked: before the handler of every operation on an app. An
 * app of others answers `not-found`, like one that does not exist.
 *
 * @param needs the state that the app must have; absent if any will do
 * @returns the app, and the account that owns it, whose limits count
 * @throws Problem `role-required`, `client-app-suspended`, `scope-not-approved`; ServiceError
 *   `not-found`
 * @example
 * const { app, owner } = await requirePermission(deps, account, 'app_1', 'manage');
 */
export async function requirePermission(
  {
    apps,
    accounts,
  }: { readonly apps: Pick<Work['apps'], 'read'>; readonly accounts: Pick<Work['accounts'], 'read'> },
  account: Account,
  clientId: string,
  permission: Permission,
  needs?: AppState,
): Promise<{ readonly app: ClientApp; readonly owner: Account }> {
  const app = await apps.read(clientId);
  const role = roleOf(app, account);
  const missing = () => new ServiceError('not-found', `there is no client app ${clientId}`);
  if (!role) throw missing();
  if (!isAllowed(role, permission))
    throw new Problem('role-required', `Your role in this app, ${role}, does not allow this.`);
  const refused = needs && refuseApp(app, needs);
  if (refused) throw new Problem(refused.code, refused.detail);
  const owner = role === 'owner' ? account : await accounts.read(app.accountId);
  if (!owner) throw missing();
  return { app, owner };
}
