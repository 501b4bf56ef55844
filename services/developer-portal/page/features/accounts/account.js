import { ask } from '../../lib/api.js';
import { formatCount } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useSession } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { PageHead } from '../../ui/page-head.js';
import { Card, Loaded } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';
import { AuditList } from '../apps/audit-list.js';
import { Sessions } from './own-sessions.js';
import { TwoFactor } from './two-factor.js';

/** The account: its limits, its password, its sessions, its audit trail, its deletion. */
export function Account() {
  const { account } = useSession();
  const audit = useResource('/api/audit');
  const [isDeleting, setIsDeleting] = useState(false);
  const { requestsPerSecond, requestsPerMonth, clientApps, marketplaceKeys } = account.limits;
  return html`
    <${PageHead} title="Account"><p class="sub break">${account.email}</p><//>
    <div class="two">
      <${Card} title="Tier"><dl class="facts-list">
        <div><dt>Tier</dt><dd class="capital">${account.tier}</dd></div>
        <div><dt>Requests per second and app</dt><dd>${formatCount(requestsPerSecond)}</dd></div>
        <div><dt>Checks per month and app</dt><dd>${formatCount(requestsPerMonth)}</dd></div>
        <div><dt>Client apps</dt><dd>${formatCount(clientApps)}</dd></div>
        <div><dt>Marketplace keys</dt><dd>${formatCount(marketplaceKeys)}</dd></div>
      </dl><//>
      <${ChangePassword} />
    </div>
    <${TwoFactor} />
    <${Sessions} />
    <${Card} title="Activity"><${Loaded} resource=${audit}>${(entries) => html`<${AuditList} entries=${entries} />`}<//><//>
    <${Card} title="Delete this account" class="danger-zone">
      <p class="prose">All its apps are deleted with it, and their keys stop working at once.</p>
      <button type="button" class="danger" onClick=${() => setIsDeleting(true)}>Delete account…</button>
    <//>
    ${isDeleting && html`<${DeleteAccount} onClose=${() => setIsDeleting(false)} />`}
  `;
}

function ChangePassword() {
  const [round, setRound] = useState(0);
  const form = useSubmit(
    (body) => ask('POST', '/api/account/password', { body }),
    () => {
      setRound(round + 1);
      toast('Password changed. Other sessions have ended.');
    },
  );
  return html`<${Card} title="Password">
    <${Form} form=${form} submit="Change password" key=${round}>
      <${Field} label="Current password" name="current" type="password" required maxlength="128"
        autocomplete="current-password" fault=${form.faults['/current']} />
      <${Field} label="New password" name="next" type="password" required minlength="12" maxlength="128"
        autocomplete="new-password" hint="At least 12 characters." fault=${form.faults['/next']} />
    <//>
  <//>`;
}

function DeleteAccount({ onClose }) {
  const { leave } = useSession();
  const form = useSubmit(
    (body) => ask('POST', '/api/account/delete', { body }),
    () => {
      toast('Account deleted');
      leave();
    },
  );
  return html`<${Dialog} title="Delete your account?" onClose=${onClose}>
    <${Form} form=${form} submit="Delete account" tone="danger" onCancel=${onClose}>
      <p class="prose">This cannot be undone.</p>
      <${Field} label="Password" name="password" type="password" required maxlength="128" autofocus
        autocomplete="current-password" fault=${form.faults['/password']} />
    <//>
  <//>`;
}
