import { ask } from '../../lib/api.js';
import { formatMinute } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { navigate } from '../../lib/router.js';
import { useApp, useSession } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Confirm } from '../../ui/confirm.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { PageHead } from '../../ui/page-head.js';
import { SecretsShown } from '../../ui/secrets-shown.js';
import { Badge, Card, Loaded, Time } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';

const ROLES = {
  viewer: 'Sees everything, changes nothing.',
  developer: 'Also keys, secrets, rule sets, batches and resends.',
  admin: 'Also the team and the name of the app.',
};

/** The team of the app: its owner, its members, and links by which others join. */
export function Team() {
  const { app, api, may } = useApp();
  const { account } = useSession();
  const team = useResource(`${api}/members`);
  const [open, setOpen] = useState(undefined);
  const close = () => setOpen(undefined);
  const done = (text) => () => {
    close();
    toast(text);
    team.reload();
  };
  const member = (id) => `${api}/members/${encodeURIComponent(id)}`;
  return html`
    <${PageHead} title="Team" aside=${may('createInvitation') && html`<button type="button" class="primary" onClick=${() => setOpen({ name: 'invite' })}>Invite</button>`}>
      <p class="sub">People who use this app with you. Each has a separate account and a role.</p>
    <//>
    <${Loaded} resource=${team}>${({ owner, members, invitations }) => html`
      <ul class="rows">
        <li><div class="grow"><p class="row-title break">${owner}</p></div><div class="badges"><${Badge} tone="good">owner<//></div></li>
        ${members.map((one) => {
          const isSelf = one.accountId === account.accountId;
          const actions = [
            !isSelf &&
              may('setMemberRole') &&
              html`<button type="button" aria-label=${`Set role of ${one.email}`} onClick=${() => setOpen({ name: 'role', one })}>Set role</button>`,
            !isSelf &&
              may('removeMember') &&
              html`<button type="button" class="danger-quiet" aria-label=${`Remove ${one.email}`} onClick=${() => setOpen({ name: 'remove', one })}>Remove</button>`,
            isSelf &&
              html`<button type="button" class="danger-quiet" onClick=${() => setOpen({ name: 'leave' })}>Leave</button>`,
          ].filter(Boolean);
          return html`<li key=${one.accountId}>
            <div class="grow"><p class="row-title break">${one.email}</p><p class="sub">joined <${Time} at=${one.addedAt} /></p></div>
            <div class="badges"><${Badge}>${one.role}<//></div>
            ${actions.length > 0 && html`<div class="row-actions">${actions}</div>`}
          </li>`;
        })}
      </ul>
      ${
        invitations.length > 0 &&
        html`<${Card} title="Open invitations"><ul class="rows inner">${invitations.map(
          ({ invitationId, role, email, expiresAt }) => html`<li key=${invitationId}>
          <div class="grow"><p class="break">${email ?? 'Anybody with the link'}</p><p class="sub">until ${formatMinute(expiresAt)}</p></div>
          <div class="badges"><${Badge}>${role}<//></div>
          ${may('withdrawInvitation') && html`<div class="row-actions"><button type="button" class="danger-quiet" aria-label=${`Withdraw the invitation of ${email ?? 'a link'}`} onClick=${() => setOpen({ name: 'withdraw', invitationId })}>Withdraw</button></div>`}
        </li>`,
        )}</ul><//>`
      }`}<//>
    ${open?.name === 'invite' && html`<${Invite} api=${api} onClose=${close} onDone=${done('The invitation is open for seven days')} />`}
    ${open?.name === 'role' && html`<${SetRole} path=${member(open.one.accountId)} one=${open.one} onClose=${close} onDone=${done('Role set')} />`}
    ${
      open?.name === 'remove' &&
      html`<${Confirm} title="Remove from the team?" action="Remove" onClose=${close} onDone=${done('Removed')} send=${() => ask('DELETE', member(open.one.accountId))}>
        <p class="break">${open.one.email} loses access at once. API keys and secrets that they have seen still work: roll them.</p><//>`
    }
    ${
      open?.name === 'withdraw' &&
      html`<${Confirm} title="Withdraw the invitation?" action="Withdraw" onClose=${close} onDone=${done('Invitation withdrawn')}
        send=${() => ask('DELETE', `${api}/invitations/${encodeURIComponent(open.invitationId)}`)}><p>Its link stops working.</p><//>`
    }
    ${
      open?.name === 'leave' &&
      html`<${Confirm} title="Leave the team?" action="Leave" onClose=${close} onDone=${() => navigate('/apps')} send=${() => ask('POST', `${api}/leave`)}>
        <p>You lose access to ${app.name} at once.</p><//>`
    }
  `;
}

/** The role, with its permissions under it. */
function RoleField({ value, fault }) {
  const [role, setRole] = useState(value);
  return html`<${Field} label="Role" as="select" name="role" value=${role} hint=${ROLES[role]} fault=${fault}
    onChange=${(event) => setRole(event.target.value)}>
    ${Object.keys(ROLES).map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
  <//>`;
}

function SetRole({ path, one, onClose, onDone }) {
  const form = useSubmit((body) => ask('PATCH', path, { body }), onDone);
  return html`<${Dialog} title="Set the role" onClose=${onClose}>
    <${Form} form=${form} submit="Set role" onCancel=${onClose}>
      <p class="sub break">${one.email}</p><${RoleField} value=${one.role} fault=${form.faults['/role']} />
    <//>
  <//>`;
}

/** Makes a link, shown once, by which one account becomes a member: any, or only the one with the given address. */
function Invite({ api, onClose, onDone }) {
  const [made, setMade] = useState(undefined);
  const form = useSubmit(
    ({ role, email }, idempotencyKey) =>
      ask('POST', `${api}/invitations`, { body: { role, ...(email.trim() && { email }) }, idempotencyKey }),
    setMade,
  );
  if (made)
    return html`<${Dialog} key="made" title="Link to the team">
      <${SecretsShown} secrets=${[['Link', `${location.origin}/invitation#${made.token}`]]} onDone=${onDone}
        note=${`Send it to the person. It works once, until ${formatMinute(made.expiresAt)}.`} />
    <//>`;
  return html`<${Dialog} key="ask" title="Invite to the team" onClose=${onClose}>
    <${Form} form=${form} submit="Make link" onCancel=${onClose}>
      <${Field} label="E-mail address" name="email" type="email" maxlength="254" autocomplete="off"
        hint="Only the account with this address may use the link. Without an address, anybody with the link may." fault=${form.faults['/email']} />
      <${RoleField} value="developer" fault=${form.faults['/role']} />
    <//>
  <//>`;
}
