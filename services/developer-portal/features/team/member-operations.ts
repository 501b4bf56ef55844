import { z } from 'zod';
import { Invitation, Member, MemberRole } from '#shared/contracts/apps/client-app.ts';
import { AppRole, Email, InvitationToken, instant } from '../../http/api.ts';
import { CREATION, type Declaration } from '../../http/operation.ts';

const WithToken = z.strictObject({ token: InvitationToken });

export const MEMBER_OPERATIONS = {
  listMembers: {
    call: 'GET /api/apps/:clientId/members',
    summary: 'The owner, the members and the open invitations of an app',
    answer: z.object({
      owner: z.string(),
      members: z.array(Member.extend({ email: z.string() })),
      /** Those that can be accepted. */
      invitations: z.array(Invitation.omit({ tokenHash: true, invitedBy: true })),
    }),
  },
  createInvitation: {
    call: 'POST /api/apps/:clientId/invitations',
    ...CREATION,
    permission: 'manage',
    summary: 'Make a link by which one account becomes a member, valid for seven days; returned only once',
    body: z.strictObject({ role: MemberRole, email: Email.optional() }),
    /** The page `/invitation#TOKEN` accepts it. */
    answer: z.object({ invitationId: z.string(), token: z.string(), expiresAt: instant }),
    codes: ['limit-reached'],
  },
  withdrawInvitation: {
    call: 'DELETE /api/apps/:clientId/invitations/:invitationId',
    permission: 'manage',
    summary: 'Withdraw an invitation; its link stops working',
  },
  setMemberRole: {
    call: 'PATCH /api/apps/:clientId/members/:accountId',
    permission: 'manage',
    summary: 'Set the role of a member',
    body: z.strictObject({ role: MemberRole }),
  },
  removeMember: {
    call: 'DELETE /api/apps/:clientId/members/:accountId',
    permission: 'manage',
    summary: 'Remove a member, whose access ends at once; API keys that the member knows still work',
  },
  leaveApp: {
    call: 'POST /api/apps/:clientId/leave',
    permission: 'view',
    summary: 'Leave the team of an app',
    endsSomething: true,
  },
  readInvitation: {
    call: 'POST /api/invitations/read',
    summary: 'Read the app and the role of an invitation',
    body: WithToken,
    answer: z.object({ clientId: z.string(), name: z.string(), owner: z.string(), role: AppRole }),
    codes: ['not-found'],
  },
  acceptInvitation: {
    call: 'POST /api/invitations/accept',
    summary: 'Become a member of an app; the invitation is used up',
    body: WithToken,
    answer: z.object({ clientId: z.string() }),
    codes: ['not-found', 'conflict', 'limit-reached'],
  },
} as const satisfies Record<string, Declaration>;
