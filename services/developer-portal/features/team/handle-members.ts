import { randomBytes } from 'node:crypto';
import type { Account, ClientApp, Invitation } from '#shared/contracts/apps/client-app.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Accounts } from '#shared/stores/apps/accounts.ts';
import type { ClientApps } from '#shared/stores/apps/client-apps.ts';
import { roleOf } from '../../domain/permissions.ts';
import type { Handlers } from '../../http/call.ts';
import { type Idempotency, requestOf } from '../../http/idempotency.ts';
import type { ReadOwn } from '../apps/app-access.ts';
import type { ClientAppWork } from '../apps/client-apps.ts';
import { sha256 } from '../apps/credentials.ts';
import * as change from './change-members.ts';
import type { MEMBER_OPERATIONS } from './member-operations.ts';

const INVITATION_MS = 7 * DAY_MS;
/** Apps of others that an account may be a member of. */
const SHARED_APPS_MAX = 100;
const TOKEN_BYTES = 32;
const ID_BYTES = 12;
const TOKEN = /^(app_[0-9a-f]{24})\.[\w-]{43}$/;

type Dependencies = {
  readonly readOwn: ReadOwn;
  readonly accounts: Pick<Accounts, 'read'>;
  readonly clientApps: Pick<ClientApps, 'listShared'>;
  readonly apps: Pick<ClientAppWork, 'read' | 'changeMembers'>;
  readonly idempotency: Idempotency;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** The team of an app. An invitation's token is the right to accept it: only its SHA-256 is stored. */
export function makeMemberHandlers(deps: Dependencies): Handlers<keyof typeof MEMBER_OPERATIONS> {
  const { readOwn, accounts, clientApps, apps, idempotency, now } = deps;
  const emailOf = async (accountId: string) => (await accounts.read(accountId))?.email;

  /** The app and the invitation of a token that this account may accept. @throws ServiceError `not-found` */
  const findInvitation = async (account: Account, token: string): Promise<[ClientApp, Invitation]> => {
    const [, clientId] = TOKEN.exec(token) ?? [];
    const app = clientId === undefined ? undefined : await apps.read(clientId).catch(ignoreNotFound);
    const tokenHash = sha256(token);
    const found = app && change.openInvitations(app, now()).find((one) => one.tokenHash === tokenHash);
    const isFor = found?.email === undefined || found.email.toLowerCase() === account.email.toLowerCase();
    if (!app || !found || !isFor) throw new ServiceError('not-found', 'there is no such invitation');
    return [app, found];
  };

  return {
    async listMembers({ account, owner, param }) {
      const app = await readOwn(account, param('clientId'));
      const members = await Promise.all(
        (app.members ?? []).map(async (member) => {
          const known = await accounts.read(member.accountId);
          return known && known.deletedAt === undefined && roleOf(app, known)
            ? [{ ...member, email: known.email }]
            : [];
        }),
      );
      const invitations = change
        .openInvitations(app, now())
        .map(({ tokenHash: _, invitedBy: __, ...shown }) => shown);
      return { owner: owner.email, members: members.flat(), invitations };
    },
    async createInvitation(call) {
      const { account, param, body } = call;
      const { clientId } = await readOwn(account, param('clientId'));
      return idempotency.run(
        requestOf('createInvitation', call, [clientId]),
        () => ({
          invitationId: `inv_${randomBytes(ID_BYTES).toString('hex')}`,
          token: `${clientId}.${randomBytes(TOKEN_BYTES).toString('base64url')}`,
          expiresAt: new Date(now() + INVITATION_MS).toISOString(),
        }),
        ({ invitationId, token, expiresAt }) => {
          const createdAt = new Date(now()).toISOString();
          const rest = { tokenHash: sha256(token), invitedBy: account.accountId, createdAt, expiresAt };
          const by = change.invite({ invitationId, ...body, ...rest }, now());
          return apps.changeMembers(
            account.email,
            clientId,
            'member-invited',
            by,
            withRole(body.email ?? invitationId, body.role),
          );
        },
      );
    },
    async withdrawInvitation({ account, param }) {
      const { clientId } = await readOwn(account, param('clientId'));
      const id = param('invitationId');
      await apps.changeMembers(
        account.email,
        clientId,
        'invitation-withdrawn',
        change.withdrawInvitation(id),
        id,
      );
      return undefined;
    },
    async setMemberRole({ account, param, body }) {
      const { clientId } = await readOwn(account, param('clientId'));
      const id = param('accountId');
      const by = change.setMemberRole(id, body.role);
      await apps.changeMembers(
        account.email,
        clientId,
        'member-role-set',
        by,
        withRole((await emailOf(id)) ?? id, body.role),
      );
      return undefined;
    },
    async removeMember({ account, param }) {
      const { clientId } = await readOwn(account, param('clientId'));
      const id = param('accountId');
      const by = change.removeMember(id);
      await apps.changeMembers(account.email, clientId, 'member-removed', by, (await emailOf(id)) ?? id);
      return undefined;
    },
    async leaveApp({ account, param }) {
      const { clientId } = await readOwn(account, param('clientId'));
      const by = change.removeMember(account.accountId);
      await apps.changeMembers(account.email, clientId, 'member-left', by, account.email);
      return undefined;
    },
    async readInvitation({ account, body }) {
      const [app, { role }] = await findInvitation(account, body.token);
      return { clientId: app.clientId, name: app.name, owner: (await emailOf(app.accountId)) ?? '', role };
    },
    async acceptInvitation({ account, body }) {
      const [{ clientId }, { tokenHash, role }] = await findInvitation(account, body.token);
      const shared = await clientApps.listShared(account.accountId, (app) => app.clientId);
      if (shared.length >= SHARED_APPS_MAX)
        throw new ServiceError('limit-reached', `an account may be a member of ${SHARED_APPS_MAX} apps`);
      const by = change.acceptInvitation(tokenHash, account.accountId, now());
      await apps.changeMembers(account.email, clientId, 'member-joined', by, withRole(account.email, role));
      return { clientId };
    },
  };
}

const withRole = (subject: string, role: string): string => `${subject} (${role})`;

function ignoreNotFound(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.code !== 'not-found') throw error;
}
