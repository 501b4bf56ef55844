import { ask } from '../../lib/api.js';
import { formatMinute } from '../../lib/format.js';
import { html, useState, when } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { navigate } from '../../lib/router.js';
import { useApp, useSession } from '../../lib/session.js';
import { Confirm, Field, FormDialog, MakeSecrets, useDialog } from '../../ui/form.js';
import { Card, loaded, PageHead } from '../../ui/page.js';
import { Badge, rows, Time } from '../../ui/values.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @typedef {Answer<'GET /api/apps/:clientId/members'>} Members */

/** @type {Record<string, string>} */
const ROLES = {
  viewer: 'Sees everything, changes nothing.',
  developer: 'Also keys, secrets, rule sets, batches and resends.',
  admin: 'Also the team and the name of the app.',
};

/** The team of the app: its owner, its members, and links by which others join. */
export function Team() {
  const { app, clientId, may } = useApp();
  const { account } = useSession();
  const team = useResource('GET /api/apps/:clientId/members', { clientId });
  const [dialog, open] = useDialog(team.reload);
  const invite = () =>
    open(html`<${MakeSecrets} title="Invite to the team" submit="Make link"
        send=${({ role, email }, idempotencyKey) =>
          ask('POST /api/apps/:clientId/invitations', {
            params: { clientId },
            body: { role, ...(email.trim() && { email }) },
            idempotencyKey,
          })}
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
  /** @param {Members['members'][number]} member */
  const drawMember = ({ accountId, email, role, addedAt }) => {
    const params = { clientId, accountId };
    const isSelf = accountId === account.accountId;
    const setRole = () =>
      open(html`<${FormDialog} title="Set the role" submit="Set role" said="Role set"
          send=${(body) => ask('PATCH /api/apps/:clientId/members/:accountId', { params, body })}>
          <p class="sub break">${email}</p><${RoleField} value=${role} />
        <//>`);
    const remove = () =>
      open(html`<${Confirm} title="Remove from the team?" action="Remove" said="Removed"
          send=${() => ask('DELETE /api/apps/:clientId/members/:accountId', { params })}>
          <p class="break">${email} loses access at once. API keys and secrets that they have seen still work: roll them.</p>
        <//>`);
    const leave = () =>
      open(html`<${Confirm} title="Leave the team?" action="Leave" onDone=${() => navigate('/apps')}
          send=${() => ask('POST /api/apps/:clientId/leave', { params })}><p>You lose access to ${app.name} at once.</p><//>`);
    const actions = [
      !isSelf &&
        may('setMemberRole') &&
        html`<button type="button" aria-label=${`Set role of ${email}`} onClick=${setRole}>Set role</button>`,
      !isSelf &&
        may('removeMember') &&
        html`<button type="button" class="danger-quiet" aria-label=${`Remove ${email}`} onClick=${remove}>Remove</button>`,
      isSelf && html`<button type="button" class="danger-quiet" onClick=${leave}>Leave</button>`,
    ].filter(Boolean);
    return html`<li key=${accountId}>
      <div class="grow"><p class="row-title break">${email}</p><p class="sub">joined <${Time} at=${addedAt} /></p></div>
      <div class="badges"><${Badge}>${role}<//></div>
      ${actions.length > 0 && html`<div class="row-actions">${actions}</div>`}
    </li>`;
  };
  /** @param {Members['invitations'][number]} invitation */
  const drawInvitation = ({ invitationId, role, email, expiresAt }) => {
    const params = { clientId, invitationId };
    const withdraw = () =>
      open(html`<${Confirm} title="Withdraw the invitation?" action="Withdraw"
          said="Invitation withdrawn" send=${() => ask('DELETE /api/apps/:clientId/invitations/:invitationId', { params })}>
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
      ${when(invitations.length, () => html`<${Card} title="Open invitations">${rows(invitations, null, drawInvitation, 'inner')}<//>`)}`,
    )}
    ${dialog}
  `;
}

/** The role, with its permissions under it. */
function RoleField({ value }) {
  const [role, setRole] = useState(value);
  return html`<${Field} label="Role" as="select" name="role" value=${role} hint=${ROLES[role]}
    onChange=${(event) => setRole(event.target.value)}>
    ${Object.keys(ROLES).map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
  <//>`;
}
