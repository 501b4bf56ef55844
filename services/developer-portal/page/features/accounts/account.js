import { ask } from '../../lib/api.js';
import { formatCount, formatPlural } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { useSession } from '../../lib/session.js';
import { Checkbox, Confirm, FormDialog, Password, SendForm, useDialog } from '../../ui/form.js';
import { Card, loaded, PageHead } from '../../ui/page.js';
import { toast } from '../../ui/toasts.js';
import { Badge, Facts, rows, Time } from '../../ui/values.js';
import { AuditList } from '../apps/audit-list.js';
import { OwnPassword } from './own-password.js';
import { TwoFactor } from './two-factor.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @typedef {Answer<'GET /api/sessions'>[number]} OpenSession */

/** The account: its limits, its password, its sessions, its audit trail, its deletion. */
export function Account() {
  const { account, leave, reload } = useSession();
  const audit = useResource('GET /api/audit', {});
  const [dialog, open] = useDialog(() => {
    toast('Account deleted');
    leave();
  });
  const { requestsPerSecond, requestsPerMonth, clientApps, marketplaceKeys } = account.limits;
  return html`
    <${PageHead} title="Account"><p class="sub break">${account.email}</p><//>
    <div class="two">
      <${Card} title="Tier"><${Facts} pairs=${[
        ['Tier', html`<span class="capital">${account.tier}</span>`],
        ['Requests per second and app', formatCount(requestsPerSecond)],
        ['Checks per month and app', formatCount(requestsPerMonth)],
        ['Client apps', formatCount(clientApps)],
        ['Marketplace keys', formatCount(marketplaceKeys)],
      ]} /><//>
      ${account.hasPassword && html`<${ChangePassword} />`}
    </div>
    <${TwoFactor} />
    <${Sessions} />
    ${account.notices !== undefined && html`<${Notices} isOn=${account.notices} reload=${reload} />`}
    <${Card} title="Activity">${loaded(audit, (entries) => html`<${AuditList} entries=${entries} />`)}<//>
    <${Card} title="Delete this account" class="danger-zone">
      <p class="prose">All its apps are deleted with it, and their keys stop working at once.</p>
      <button type="button" class="danger" onClick=${() =>
        open(html`<${FormDialog} title="Delete your account?" submit="Delete account" tone="danger"
            send=${(body) => ask('POST /api/account/delete', { body })}>
            <p class="prose">This cannot be undone.</p><${OwnPassword} autofocus />
          <//>`)}>Delete account…</button>
    <//>
    ${dialog}
  `;
}

function ChangePassword() {
  const [round, setRound] = useState(0);
  const done = () => {
    setRound(round + 1);
    toast('Password changed. Other sessions have ended.');
  };
  return html`<${Card} title="Password">
    <${SendForm} submit="Change password" key=${round} onDone=${done}
      send=${(body) => ask('POST /api/account/password', { body })}>
      <${Password} label="Current password" name="current" /><${Password} label="New password" name="next" isNew />
    <//>
  <//>`;
}

/** Whether the account gets e-mail about its apps. */
function Notices({ isOn, reload }) {
  const change = async (event) => {
    await ask('PUT /api/account/notices', { body: { enabled: event.target.checked } }).catch((error) =>
      toast(error.message, 'bad'),
    );
    await reload();
  };
  return html`<${Card} title="E-mail">
    <${Checkbox} name="notices" label="Tell me what needs me" checked=${isOn} onChange=${change}
      hint="Webhooks that are not accepted, keys that expire soon, watches that are held or see no changes, decisions about a scope. At most one message a day for each." />
  <//>`;
}

/** Where the account is signed in, and the means to end any of it. */
function Sessions() {
  const sessions = useResource('GET /api/sessions', {});
  const [dialog, open] = useDialog(sessions.reload);
  const others = sessions.value?.filter(({ current }) => !current).length ?? 0;
  const endOthers = () =>
    open(html`<${Confirm} title="End all other sessions?" action="End sessions"
        said="Other sessions ended" send=${() => ask('POST /api/sessions/end-others')}>
        <p>${formatPlural(others, 'session')} must sign in again. Change your password as well if somebody else may know it.</p>
      <//>`);
  /** @param {OpenSession} session */
  const end = ({ sessionId, browser, address }) =>
    open(html`<${Confirm} title="End this session?" action="End session"
        said="Session ended" send=${() => endSession(sessionId)}>
        <p>${browser} at ${address} must sign in again.</p>
      <//>`);
  return html`<${Card} title="Sessions" aside=${
    others > 0 &&
    html`<button type="button" class="danger-quiet" onClick=${endOthers}>End all others</button>`
  }>
    ${loaded(sessions, (list) =>
      rows(
        list,
        null,
        (one) => html`<${Session} key=${one.sessionId} data=${one} onEnd=${() => end(one)} />`,
      ),
    )}
    ${dialog}
  <//>`;
}

/** A session that ended meanwhile is ended. */
const endSession = (sessionId) =>
  ask('DELETE /api/sessions/:sessionId', { params: { sessionId } }).catch((error) => {
    if (error.code !== 'not-found') throw error;
  });

/** @param {{ data: OpenSession, onEnd: () => void }} props */
const Session = ({ data: { browser, address, startedAt, usedAt, current }, onEnd }) => html`<li>
  <div class="grow">
    <p class="row-title break">${browser} ${current && html`<${Badge} tone="good">This session<//>`}</p>
    <p class="sub break">${address}</p>
  </div>
  <p class="sub facts"><span>Used <${Time} at=${usedAt} /></span><span>Began <${Time} at=${startedAt} /></span></p>
  ${
    !current &&
    html`<div class="row-actions"><button type="button" class="danger-quiet" aria-label=${`End the session of ${browser} at ${address}`}
      onClick=${onEnd}>End</button></div>`
  }
</li>`;
