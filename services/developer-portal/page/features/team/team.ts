import { type Answer, ask, sends } from '../../lib/api.ts';
import { formatMinute } from '../../lib/format.ts';
import { html, useState } from '../../lib/html.ts';
import { useRead, useResource } from '../../lib/resources.ts';
import { navigate } from '../../lib/router.ts';
import { useApp, useSession, useSignOut } from '../../lib/session.ts';
import { Confirm, Field, FormDialog, MakeSecrets, openDialog, SendForm } from '../../ui/form.ts';
import { Card, loaded, PageHead } from '../../ui/page.ts';
import { toast } from '../../ui/toasts.ts';
import { Badge, Time } from '../../ui/values.ts';

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
  const invite = () =>
    openDialog(html`<${MakeSecrets} after=${team.reload} title="Invite to the team" submit="Make link"
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
      openDialog(html`<${FormDialog} after=${team.reload} title="Set the role" submit="Set role" said="Role set"
          send=${sends('PATCH /api/apps/:clientId/members/:accountId', params)}>
          <p class="sub break">${email}</p><${RoleField} value=${role} />
        <//>`);
    const remove = () =>
      openDialog(html`<${Confirm} after=${team.reload} title="Remove from the team?" action="Remove" said="Removed"
          send=${sends('DELETE /api/apps/:clientId/members/:accountId', params)}>
          <p class="break">${email} loses access at once. API keys and secrets that they have seen still work: roll them.</p>
        <//>`);
    const leave = () =>
      openDialog(html`<${Confirm} title="Leave the team?" action="Leave" onDone=${() => navigate('/apps')}
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
      openDialog(html`<${Confirm} after=${team.reload} title="Withdraw the invitation?" action="Withdraw"
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
      ${invitations.length > 0 && html`<${Card} title="Open invitations"><ul class="rows inner">${invitations.map(drawInvitation)}</ul><//>`}`,
    )}
  `;
}

function RoleField({ value }) {
  const [role, setRole] = useState(value);
  return html`<${Field} label="Role" name="role" choices=${Object.keys(ROLES)} value=${role} hint=${ROLES[role]}
    onChange=${(event) => setRole(event.target.value)} />`;
}

/** Shows the app and role of an invitation, and accepts it. Its token is in the fragment, which
 * browsers do not send. */
export function Invitation() {
  const { account } = useSession();
  const signOut = useSignOut();
  const [token] = useState(() => location.hash.slice(1));
  const found = useRead(token, () =>
    ask('POST /api/invitations/read', { body: { token } }).catch((error) => {
      if (error.status === 404 || error.status === 422) return null;
      throw error;
    }),
  );
  const done = ({ clientId }) => {
    toast('You joined the team');
    navigate(`/apps/${encodeURIComponent(clientId)}`, { replace: true });
  };
  return html`
    <${PageHead} title="Invitation"><p class="sub break">You are signed in as ${account.email}.</p><//>
    <${Card}>${loaded(found, (invitation) =>
      invitation === null
        ? html`<p class="prose">This invitation is used, withdrawn, older than seven days, or for another account. Ask for a new one.</p>
          <div class="actions"><button type="button" onClick=${signOut}>Use another account</button></div>`
        : html`<${SendForm} submit="Join the team" send=${sends('POST /api/invitations/accept', {}, () => ({ token }))} onDone=${done}>
            <p class="prose break">You are invited to the app <strong>${invitation.name}</strong> of ${invitation.owner} as <strong>${invitation.role}</strong>.</p>
          <//>`,
    )}<//>
  `;
}
