import { type Answer, sends } from '../../lib/api.ts';
import { formatMinute } from '../../lib/format.ts';
import { html, useState } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { navigate } from '../../lib/router.ts';
import { useApp, useSession } from '../../lib/session.ts';
import { Confirm, Field, FormDialog, MakeSecrets, useDialog } from '../../ui/form.ts';
import { Card, loaded, PageHead } from '../../ui/page.ts';
import { Badge, rows, Time } from '../../ui/values.ts';

type Members = Answer<'GET /api/apps/:clientId/members'>;

const ROLES: Record<string, string> = {
  viewer: 'Sees everything, changes nothing.',
  developer: 'Also keys, secrets, rule sets, batches and resends.',
  admin: 'Also the team and the name of the app.',
};

export function Team() {
  const { app, clientId, may } = useApp();
  const { account } = useSession();
  const team = useResource('GET /api/apps/:clientId/members', { clientId });
  const [dialog, open] = useDialog(team.reload);
  const invite = () =>
    open(html`<${MakeSecrets} title="Invite to the team" submit="Make link"
        send=${sends('POST /api/apps/:clientId/invitations', { clientId }, ({ role, email }) => ({ role, ...(email.trim() && { email }) }))}
        show=${({ token, expiresAt }) => ({
          title: 'Link to the team',
          secrets: [['Link', `${location.origin}/invitation#${token}`]],
          note: `Send it to the person. It works once, until ${formatMinute(expiresAt)}.`,
        })}
        said="The invitation is open for seven days">
        <${Field} label="E-mail address" name="email" type="email" maxlength="254" autocomplete="off"
          hint="Only the account with this address may use the link. Without an address, anybody with the link may." />
        <${RoleField} value="developer" />
      <//>`);
  const drawMember = ({ accountId, email, role, addedAt }: Members['members'][number]) => {
    const params = { clientId, accountId };
    const isSelf = accountId === account.accountId;
    const setRole = () =>
      open(html`<${FormDialog} title="Set the role" submit="Set role" said="Role set"
          send=${sends('PATCH /api/apps/:clientId/members/:accountId', params)}>
          <p class="sub break">${email}</p><${RoleField} value=${role} />
        <//>`);
    const remove = () =>
      open(html`<${Confirm} title="Remove from the team?" action="Remove" said="Removed"
          send=${sends('DELETE /api/apps/:clientId/members/:accountId', params)}>
          <p class="break">${email} loses access at once. API keys and secrets that they have seen still work: roll them.</p>
        <//>`);
    const leave = () =>
      open(html`<${Confirm} title="Leave the team?" action="Leave" onDone=${() => navigate('/apps')}
          send=${sends('POST /api/apps/:clientId/leave', { clientId })}><p>You lose access to ${app.name} at once.</p><//>`);
    const actions = isSelf
      ? [html`<button type="button" class="danger-quiet" onClick=${leave}>Leave</button>`]
      : [
          may('setMemberRole') &&
            html`<button type="button" aria-label=${`Set role of ${email}`} onClick=${setRole}>Set role</button>`,
          may('removeMember') &&
            html`<button type="button" class="danger-quiet" aria-label=${`Remove ${email}`} onClick=${remove}>Remove</button>`,
        ];
    return html`<li key=${accountId}>
      <div class="grow"><p class="row-title break">${email}</p><p class="sub">joined <${Time} at=${addedAt} /></p></div>
      <div class="badges"><${Badge}>${role}<//></div>
      ${actions.some(Boolean) && html`<div class="row-actions">${actions}</div>`}
    </li>`;
  };
  const drawInvitation = ({ invitationId, role, email, expiresAt }: Members['invitations'][number]) => {
    const params = { clientId, invitationId };
    const withdraw = () =>
      open(html`<${Confirm} title="Withdraw the invitation?" action="Withdraw"
          said="Invitation withdrawn" send=${sends('DELETE /api/apps/:clientId/invitations/:invitationId', params)}>
          <p>Its link stops working.</p>
        <//>`);
    return html`<li key=${invitationId}>
      <div class="grow"><p class="break">${email ?? 'Anybody with the link'}</p><p class="sub">until ${formatMinute(expiresAt)}</p></div>
      <div class="badges"><${Badge}>${role}<//></div>
      ${may('withdrawInvitation') && html`<div class="row-actions"><button type="button" class="danger-quiet" aria-label=${`Withdraw the invitation of ${email ?? 'a link'}`} onClick=${withdraw}>Withdraw</button></div>`}
    </li>`;
  };
  return html`
    <${PageHead} title="Team" aside=${may('createInvitation') && html`<button type="button" class="primary" onClick=${invite}>Invite</button>`}>
      <p class="sub">People who use this app with you. Each has a separate account and a role.</p>
    <//>
    ${loaded(
      team,
      ({ owner, members, invitations }) => html`
      <ul class="rows">
        <li><div class="grow"><p class="row-title break">${owner}</p></div><div class="badges"><${Badge} tone="good">owner<//></div></li>
        ${members.map(drawMember)}
      </ul>
      ${invitations.length > 0 && html`<${Card} title="Open invitations">${rows(invitations, null, drawInvitation, 'inner')}<//>`}`,
    )}
    ${dialog}
  `;
}

function RoleField({ value }) {
  const [role, setRole] = useState(value);
  return html`<${Field} label="Role" name="role" choices=${Object.keys(ROLES)} value=${role} hint=${ROLES[role]}
    onChange=${(event) => setRole(event.target.value)} />`;
}
