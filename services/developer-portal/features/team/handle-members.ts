import type { Account } from '#shared/contracts/apps/client-app.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Dependencies } from '../../dependencies.ts';
import { roleOf } from '../../domain/permissions.ts';
import type { Handlers } from '../../http/operations.ts';
import { accountIdOf, newId, newToken, sha256 } from '../apps/credentials.ts';
import { existing } from '../basis.ts';
import * as change from './change-members.ts';
import type { MEMBER_OPERATIONS } from './member-operations.ts';

const INVITATION_MS = 7 * DAY_MS;
/** Apps of others that an account may be a member of. */
const SHARED_APPS_MAX = 100;

/** The team of an app. An invitation's token is the right to accept it: only its SHA-256 is
 * stored. */
export function makeMemberHandlers(deps: Dependencies): Handlers<keyof typeof MEMBER_OPERATIONS> {
  const { accounts, clientApps, apps, now } = deps;
  /** @throws ServiceError `not-found` */
  const invitationOf = async ({ email }: Account, token: string) =>
    existing(await change.findInvitation(deps, email, token), 'there is no such invitation');

  return {
    async listMembers({ app, owner }) {
      const members = await Promise.all(
        (app.members ?? []).map(async (member) => {
          const known = await accounts.read(member.accountId);
          return known && known.deletedAt === undefined && roleOf(app, known)
            ? [{ ...member, email: known.email }]
            : [];
        }),
      );
      return { owner: owner.email, members: members.flat(), invitations: change.openInvitations(app, now()) };
    },
    async createInvitation(call) {
      const { account, body } = call;
      const { clientId } = call.app;
      const fresh = {
        invitationId: newId('inv'),
        token: newToken(clientId),
        expiresAt: new Date(now() + INVITATION_MS).toISOString(),
      };
      return call.once(fresh, ({ invitationId, token, expiresAt }) => {
        const createdAt = new Date(now()).toISOString();
        const rest = { tokenHash: sha256(token), invitedBy: account.accountId, createdAt, expiresAt };
        const by = change.invite({ invitationId, ...body, ...rest }, now());
        const invited = body.email === undefined ? invitationId : accountIdOf(body.email);
        const subject = withRole(invited, body.role);
        return apps.change(account.accountId, clientId, 'member-invited', subject, by);
      });
    },
    async withdrawInvitation({ account, app, param }) {
      const id = param('invitationId');
      const by = change.withdrawInvitation(id);
      await apps.change(account.accountId, app.clientId, 'invitation-withdrawn', id, by);
    },
    async setMemberRole({ account, app, param, body: { role } }) {
      const id = param('accountId');
      const by = change.setMemberRole(id, role);
      await apps.change(account.accountId, app.clientId, 'member-role-set', withRole(id, role), by);
    },
    async removeMember({ account, app, param }) {
      const id = param('accountId');
      const by = change.removeMember(id);
      await apps.change(account.accountId, app.clientId, 'member-removed', id, by);
    },
    async leaveApp({ account: { accountId }, app }) {
      const by = change.removeMember(accountId);
      await apps.change(accountId, app.clientId, 'member-left', accountId, by);
    },
    async readInvitation({ account, body }) {
      const [{ clientId, name, accountId }, { role }] = await invitationOf(account, body.token);
      return { clientId, name, owner: (await accounts.read(accountId))?.email ?? '', role };
    },
    async acceptInvitation({ account, body }) {
      const [{ clientId }, { tokenHash, role }] = await invitationOf(account, body.token);
      const shared = await clientApps.listShared(account.accountId, (app) => app.clientId);
      if (shared.length >= SHARED_APPS_MAX)
        throw new ServiceError('limit-reached', `an account may be a member of ${SHARED_APPS_MAX} apps`);
      const by = change.acceptInvitation(tokenHash, account.accountId, now());
      const subject = withRole(account.accountId, role);
      await apps.change(account.accountId, clientId, 'member-joined', subject, by);
      return { clientId };
    },
  };
}

const withRole = (subject: string, role: string): string => `${subject} (${role})`;
