import type { Account, ClientApp, MemberRole } from '#shared/contracts/apps/client-app.ts';

/** The role of an account in an app: its owner, or a member of its team. */
export type Role = 'owner' | MemberRole;

/**
 * The permission that an operation on an app needs:
 *
 * | permission | examples | viewer | developer | admin | owner |
 * | --- | --- | --- | --- | --- | --- |
 * | view | usage, checks, deliveries, audit entries | yes | yes | yes | yes |
 * | develop | keys, secrets, rule sets, batches, resends | | yes | yes | yes |
 * | manage | members, invitations, the name | | | yes | yes |
 * | own | deleting the app | | | | yes |
 */
export type Permission = (typeof PERMISSIONS)[number];
const PERMISSIONS = ['view', 'develop', 'manage', 'own'] as const;
/** Each may do what those before it may, and one thing more. */
const ROLES: readonly Role[] = ['viewer', 'developer', 'admin', 'owner'];

/**
 * The role of an account in an app; `undefined` if it has none. A membership that is older than the
 * account belonged to a deleted account of the same address.
 */
export function roleOf(
  app: Pick<ClientApp, 'accountId' | 'members'>,
  account: Pick<Account, 'accountId' | 'createdAt'>,
): Role | undefined {
  if (app.accountId === account.accountId) return 'owner';
  const member = app.members?.find(({ accountId }) => accountId === account.accountId);
  return member && Date.parse(member.addedAt) >= Date.parse(account.createdAt) ? member.role : undefined;
}

export const isAllowed = (role: Role, permission: Permission): boolean =>
  ROLES.indexOf(role) >= PERMISSIONS.indexOf(permission);

/** The operations whose permission does not follow from their method. */
type Described = {
  readonly method: string;
  readonly path: string;
  readonly access: string;
  readonly permission?: Permission;
};

const OF_APP = /^\/api\/apps\/:clientId(\/|$)/;

/** The permission that an operation needs; `undefined` if it is about no app of a developer.
 * Reading needs `view`, all else `develop`. */
export function permissionOf({ method, path, access, permission }: Described): Permission | undefined {
  if (access !== 'session' || !OF_APP.test(path)) return undefined;
  return permission ?? (method === 'get' ? 'view' : 'develop');
}
