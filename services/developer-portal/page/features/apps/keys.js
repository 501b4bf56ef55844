import { ask } from '../../lib/api.js';
import { formatDate } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { Confirm } from '../../ui/confirm.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Empty, Time } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';
import { CreateKey, RollKey } from './make-key.js';

const isDead = ({ revokedAt, expiresAt }) =>
  revokedAt !== undefined || (expiresAt !== undefined && Date.parse(expiresAt) <= Date.now());

/** The app's API keys: working keys, and on request revoked and expired ones. */
export function Keys() {
  const { app, api, reload, may } = useApp();
  const [open, setOpen] = useState(undefined);
  const [showsDead, setShowsDead] = useState(false);
  const close = () => setOpen(undefined);
  const done = (text) => () => {
    close();
    reload();
    if (text) toast(text);
  };
  const live = app.keys.filter((key) => !isDead(key));
  const dead = app.keys.filter(isDead);
  const act = (name, key) => () => setOpen({ name, key });
  return html`
    <${PageHead} title="API keys" aside=${may('createKey') && html`<button type="button" class="primary" onClick=${act('create')}>Create key</button>`}>
      <p class="sub">Sent as <code>x-api-key</code>. A revoked key stops working within a second.</p>
    <//>
    ${
      live.length === 0
        ? html`<${Empty} title="No working key"><p>Checks of this app need one.</p><//>`
        : html`<ul class="rows">${live.map((key) => html`<${KeyRow} key=${key.keyId} data=${key} isLive act=${act} />`)}</ul>`
    }
    ${
      dead.length > 0 &&
      html`<button type="button" class="plain" aria-expanded=${showsDead} onClick=${() => setShowsDead(!showsDead)}>
        ${showsDead ? 'Hide' : 'Show'} revoked and expired keys (${dead.length})</button>`
    }
    ${showsDead && html`<ul class="rows dim">${dead.map((key) => html`<${KeyRow} key=${key.keyId} data=${key} />`)}</ul>`}
    ${open?.name === 'create' && html`<${CreateKey} onClose=${close} onDone=${done()} />`}
    ${open?.name === 'roll' && html`<${RollKey} data=${open.key} onClose=${close} onDone=${done()} />`}
    ${
      open?.name === 'revoke' &&
      html`<${Confirm} title=${`Revoke “${open.key.name}”?`} action="Revoke key" onClose=${close} onDone=${done('Key revoked')}
        send=${() => ask('DELETE', `${api}/keys/${encodeURIComponent(open.key.keyId)}`)}>
        <p>Requests with <code>${open.key.prefix}…${open.key.lastFour}</code> are refused with 401 from now on. This cannot be undone.</p>
      <//>`
    }
  `;
}

function KeyRow({ data, isLive = false, act }) {
  const { may } = useApp();
  const { name, prefix, lastFour, marketplace, createdAt, expiresAt, revokedAt, lastUsedAt } = data;
  return html`<li>
    <div class="grow">
      <p class="row-title">${name} ${marketplace && html`<${Badge}>Marketplace<//>`}</p>
      <p class="sub"><code>${prefix}…${lastFour}</code></p>
    </div>
    <p class="sub facts">
      ${lastUsedAt ? html`<span>Used <${Time} at=${lastUsedAt} /></span>` : html`<span>Never used</span>`}
      <span>Created ${formatDate(createdAt)}</span>
      ${revokedAt && html`<span>Revoked <${Time} at=${revokedAt} /></span>`}
      ${!revokedAt && expiresAt && html`<span>${isLive ? 'Expires' : 'Expired'} <${Time} at=${expiresAt} /></span>`}
    </p>
    ${
      isLive &&
      html`<div class="row-actions">
        ${may('rollKey') && html`<button type="button" aria-label=${`Roll ${name}`} onClick=${act('roll', data)}>Roll</button>`}
        ${may('revokeKey') && html`<button type="button" class="danger-quiet" aria-label=${`Revoke ${name}`} onClick=${act('revoke', data)}>Revoke</button>`}
      </div>`
    }
  </li>`;
}
