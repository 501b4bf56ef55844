import {
  type ClientApp,
  FORMER_MEMBERS_MAX,
  INVITATIONS_MAX,
  MEMBERS_MAX,
} from '#shared/contracts/apps/client-app.ts';
import {
  acceptInvitation,
  invite,
  openInvitations,
  removeMember,
  setMemberRole,
  withdrawInvitation,
} from './change-members.ts';

const NOW = Date.parse('2026-11-23T10:00:00Z');
const app = (over: Partial<ClientApp> = {}) =>
  ({ clientId: 'app_1', accountId: 'acc_owner', ...over }) as ClientApp;
const invitation = (id: string, expiresAt = '2026-11-30T10:00:00.000Z') => ({
  invitationId: id,
  tokenHash: `hash of ${id}`,
  role: 'developer' as const,
  invitedBy: 'acc_owner',
  createdAt: '2026-11-23T09:00:00.000Z',
  expiresAt,
});
const members = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    accountId: `acc_${i}`,
    role: 'viewer' as const,
    addedAt: '2026-11-20T10:00:00.000Z',
  }));

test('an invitation makes one account a member, and is used up', () => {
  const invited = invite(invitation('inv_1'), NOW)(app());
  const joined = invited && acceptInvitation('hash of inv_1', 'acc_dev', NOW)(invited);
  expect(joined).toMatchObject({
    members: [{ accountId: 'acc_dev', role: 'developer', addedAt: '2026-11-23T10:00:00.000Z' }],
    invitations: [],
  });
  expect(() => acceptInvitation('hash of inv_1', 'acc_other', NOW)(joined ?? app())).toThrow(
    'no such invitation',
  );
});

test('an expired or withdrawn invitation is refused, and an expired one leaves with the next', () => {
  const expired = invitation('inv_old', '2026-11-23T10:00:00.000Z');
  const old = app({ invitations: [expired] });
  expect(() => acceptInvitation(expired.tokenHash, 'acc_dev', NOW)(old)).toThrow('no such invitation');
  const invited = invite(invitation('inv_1'), NOW)(old) ?? app();
  expect(openInvitations(invited, NOW)).toEqual(invited.invitations);
  const withdrawn = withdrawInvitation('inv_1')(invited) ?? app();
  expect(() => acceptInvitation('hash of inv_1', 'acc_dev', NOW)(withdrawn)).toThrow('no such invitation');
  expect(() => withdrawInvitation('inv_1')(withdrawn)).toThrow('no such invitation');
});

test('an invitation is open only as long as the account that made it may invite', () => {
  const invited = (invitedBy: string, members: ClientApp['members']) =>
    openInvitations(app({ members, invitations: [{ ...invitation('inv_1'), invitedBy }] }), NOW).length;
  const [member] = members(1);
  const admin = member && [{ ...member, role: 'admin' as const }];
  expect(invited('acc_0', admin)).toBe(1);
  expect(invited('acc_owner', undefined)).toBe(1);
  const link = { ...invitation('inv_1'), invitedBy: 'acc_0' };
  for (const by of [setMemberRole('acc_0', 'viewer'), removeMember('acc_0')]) {
    const changed = by(app({ members: admin, invitations: [link] })) ?? app();
    expect(() => acceptInvitation(link.tokenHash, 'acc_0', NOW)(changed)).toThrow('no such invitation');
  }
});

test('members and invitations are bounded, and the owner is not a member', () => {
  const full = app({
    members: members(MEMBERS_MAX),
    invitations: Array.from({ length: INVITATIONS_MAX }, (_, i) => invitation(`inv_${i}`)),
  });
  expect(() => invite(invitation('inv_more'), NOW)(full)).toThrow(`${INVITATIONS_MAX} open invitations`);
  expect(() => acceptInvitation('hash of inv_1', 'acc_new', NOW)(full)).toThrow(`${MEMBERS_MAX} members`);
  expect(acceptInvitation('hash of inv_1', 'acc_7', NOW)(full)?.members).toHaveLength(MEMBERS_MAX);
  expect(() => acceptInvitation('hash of inv_1', 'acc_owner', NOW)(full)).toThrow('you own this app');
});

test('a removed member is remembered among the newest, until the account joins again', () => {
  const former = Array.from({ length: FORMER_MEMBERS_MAX }, (_, i) => `acc_former_${i}`);
  const removed = removeMember('acc_0')(app({ members: members(2), formerMembers: former })) ?? app();
  expect(removed.members?.map(({ accountId }) => accountId)).toEqual(['acc_1']);
  expect(removed.formerMembers).toEqual(['acc_0', ...former.slice(0, -1)]);
  expect(() => removeMember('acc_0')(removed)).toThrow('no such member');
  const invited = invite(invitation('inv_1'), NOW)(removed) ?? app();
  expect(acceptInvitation('hash of inv_1', 'acc_0', NOW)(invited)?.formerMembers).not.toContain('acc_0');
});

test('setting the role that a member has changes nothing', () => {
  const before = app({ members: members(1) });
  expect(setMemberRole('acc_0', 'viewer')(before)).toBeUndefined();
  expect(setMemberRole('acc_0', 'admin')(before)?.members).toMatchObject([
    { accountId: 'acc_0', role: 'admin' },
  ]);
  expect(() => setMemberRole('acc_9', 'admin')(before)).toThrow('no such member');
});
