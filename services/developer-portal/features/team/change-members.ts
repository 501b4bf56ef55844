import {
  type ClientApp,
  FORMER_MEMBERS_MAX,
  INVITATIONS_MAX,
  type Invitation,
  MEMBERS_MAX,
  type Member,
  type MemberRole,
} from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { ChangeApp } from '../../domain/change-app.ts';
import { isAllowed } from '../../domain/permissions.ts';
import { idOfToken, sha256 } from '../apps/credentials.ts';
import { type Basis, existing } from '../basis.ts';

/** Whether the account that made an invitation may still invite: its links must not outlive its
 * rights. */
const mayInvite = ({ accountId, members = [] }: ClientApp, { invitedBy }: Invitation): boolean =>
  invitedBy === accountId ||
  members.some((member) => member.accountId === invitedBy && isAllowed(member.role, 'manage'));

/** The invitations of an app that can be accepted. */
export const openInvitations = (app: ClientApp, nowMs: number): Invitation[] =>
  (app.invitations ?? []).filter(
    (invitation) => Date.parse(invitation.expiresAt) > nowMs && mayInvite(app, invitation),
  );

/** The app and the invitation of a token that the account of this address may accept. */
export async function findInvitation(
  { clientApps, now }: Pick<Basis, 'clientApps' | 'now'>,
  email: string,
  token: string,
): Promise<[ClientApp, Invitation] | undefined> {
  const app = await clientApps.read(idOfToken(token) ?? '');
  const tokenHash = sha256(token);
  const found = app && openInvitations(app, now()).find((one) => one.tokenHash === tokenHash);
  const isFor = found?.email === undefined || found.email.toLowerCase() === email.toLowerCase();
  return app && found && isFor ? [app, found] : undefined;
}

/** Adds an invitation and drops expired ones. @throws ServiceError `limit-reached` */
export function invite(invitation: Invitation, nowMs: number): ChangeApp {
  return (app) => {
    const open = openInvitations(app, nowMs);
    if (open.some(({ invitationId }) => invitationId === invitation.invitationId)) return undefined;
    if (open.length >= INVITATIONS_MAX)
      throw new ServiceError('limit-reached', `an app may have ${INVITATIONS_MAX} open invitations`);
    return { ...app, invitations: [...open, invitation] };
  };
}

/** @throws ServiceError `not-found` */
export const withdrawInvitation =
  (invitationId: string): ChangeApp =>
  (app) => {
    const invitations = (app.invitations ?? []).filter((one) => one.invitationId !== invitationId);
    if (invitations.length === (app.invitations ?? []).length)
      throw new ServiceError('not-found', 'there is no such invitation');
    return { ...app, invitations };
  };

/** Makes an account a member and uses the invitation up.
 * @throws ServiceError `not-found`, `conflict`, `limit-reached` */
export function acceptInvitation(tokenHash: string, accountId: string, nowMs: number): ChangeApp {
  return (app) => {
    const found = openInvitations(app, nowMs).find((one) => one.tokenHash === tokenHash);
    const invitation = existing(found, 'there is no such invitation');
    const members = app.members ?? [];
    if (accountId === app.accountId)
      throw new ServiceError('conflict', 'you own this app, so you cannot join its team');
    const others = members.filter((member) => member.accountId !== accountId);
    if (others.length >= MEMBERS_MAX)
      throw new ServiceError('limit-reached', `an app may have ${MEMBERS_MAX} members`);
    const member: Member = { accountId, role: invitation.role, addedAt: new Date(nowMs).toISOString() };
    return {
      ...app,
      members: [...others, member],
      formerMembers: (app.formerMembers ?? []).filter((id) => id !== accountId),
      invitations: (app.invitations ?? []).filter((one) => one.invitationId !== invitation.invitationId),
    };
  };
}

/** @throws ServiceError `not-found` */
export const setMemberRole =
  (accountId: string, role: MemberRole): ChangeApp =>
  (app) => {
    const member = memberOf(app, accountId);
    if (member.role === role) return undefined;
    return { ...app, members: (app.members ?? []).map((one) => (one === member ? { ...one, role } : one)) };
  };

/** Removes a member, whose access ends with the write. @throws ServiceError `not-found` */
export const removeMember =
  (accountId: string): ChangeApp =>
  (app) => {
    const member = memberOf(app, accountId);
    return {
      ...app,
      members: (app.members ?? []).filter((one) => one !== member),
      formerMembers: [accountId, ...(app.formerMembers ?? [])].slice(0, FORMER_MEMBERS_MAX),
    };
  };

const memberOf = ({ members = [] }: ClientApp, accountId: string): Member =>
  existing(
    members.find((one) => one.accountId === accountId),
    'there is no such member',
  );
