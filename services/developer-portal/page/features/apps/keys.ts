import { type App, type Key, sends } from '../../lib/api.ts';
import { formatDate } from '../../lib/format.ts';
import { html, useState, type VNode } from '../../lib/html.ts';
import { keptKeys, useApp } from '../../lib/session.ts';
import { Checkbox, Confirm, Fault, Field, MakeSecrets, openDialog, ReplaceSecret } from '../../ui/form.ts';
import { Empty, PageHead } from '../../ui/page.ts';
import { Badge, Rows, Time } from '../../ui/values.ts';

const DAY_MS = 86_400_000;
/** The offered lifetimes of a key, in days; 0 is for ever. */
const LIVES = { 0: 'Never', 7: 'In 7 days', 30: 'In 30 days', 90: 'In 90 days', 365: 'In a year' };

/** The permissions of a key; without `check` it checks nothing. */
const PERMISSIONS = [
  ['check', 'Check', 'Checks and batches, and reading their results.'],
  ['read', 'Read', 'Rule sets, watches, members and deliveries.'],
  ['manage', 'Manage', 'Writing rule sets, watches and members; resending webhooks.'],
] as const;

const isDead = ({ revokedAt, expiresAt }: Key) =>
  revokedAt !== undefined || (expiresAt !== undefined && Date.parse(expiresAt) <= Date.now());

/** A key as people know it: its name may be that of another. */
export const nameOfKey = ({ name, lastFour }: Key) => `${name} (…${lastFour})`;

/** A key that is no longer listed is shown by its id. */
export function nameOfKeyId({ keys }: App, keyId: string) {
  const key = keys.find((one) => one.keyId === keyId);
  return key ? nameOfKey(key) : html`<code class="break">${keyId}</code>`;
}

/** The choice of a new key's permissions: a marketplace key has no choice. */
function Permissions() {
  const [isMarketplace, setIsMarketplace] = useState(false);
  return html`
    <${Checkbox} label="Marketplace key" name="marketplace" checked=${isMarketplace}
      onChange=${(event) => setIsMarketplace(event.target.checked)}
      hint="A key for a third party, such as a marketplace listing: it can only check. Marketplace keys are counted per account." />
    ${
      !isMarketplace &&
      html`<fieldset class="choices"><legend>This key may</legend>
        ${PERMISSIONS.map(([name, label, hint]) => html`<${Checkbox} key=${name} name=${name} label=${label} hint=${hint} defaultChecked />`)}
        <${Fault} of="/permissions" />
      </fieldset>`
    }`;
}

export function Keys() {
  const { app, clientId, reload, may } = useApp();
  const [showsDead, setShowsDead] = useState(false);
  const dead = app.keys.filter(isDead);
  const keep = ({ apiKey }) => keptKeys.set(clientId, apiKey);
  const show = (title) => (made) => ({ title, secrets: [['API key', made.apiKey]] });
  const create = () => {
    // Fixed when the form is opened: a second try must send the very same.
    const openedAtMs = Date.now();
    const send = sends('POST /api/apps/:clientId/keys', { clientId }, (values) => {
      const { name, days, marketplace, ...ticked } = values;
      const lifeMs = Number(days) * DAY_MS;
      const chosen = PERMISSIONS.map(([permission]) => permission).filter((permission) => ticked[permission]);
      return {
        name,
        marketplace: marketplace === 'on',
        ...(!marketplace && { permissions: chosen }),
        ...(lifeMs > 0 && { expiresAt: new Date(openedAtMs + lifeMs).toISOString() }),
      };
    });
    openDialog(html`<${MakeSecrets} after=${reload} title="Create an API key" submit="Create key" send=${send}
        onMade=${keep} show=${show('Your new key')}>
        <${Field} label="Name" name="name" required maxlength="64" autofocus placeholder="Production server"
          hint="Where this key is used, so that you know what breaks when you revoke it." />
        <${Field} label="Expires" name="days" choices=${LIVES} pointer="/expiresAt" />
        <${Permissions} />
      <//>`);
  };
  const roll = ({ keyId, name, prefix, lastFour }: Key) => {
    const send = sends('POST /api/apps/:clientId/keys/:keyId/roll', { clientId, keyId });
    openDialog(html`<${ReplaceSecret} after=${reload} title=${`Roll “${name}”`} submit="Roll key" send=${send} until="The old key stops working"
        onMade=${keep} show=${show(`The new “${name}”`)}>
        <p class="prose">You get a new key under the same name. <code>${prefix}…${lastFour}</code> keeps
          working for the overlap, so that you can deploy without a gap.</p>
      <//>`);
  };
  const revoke = ({ keyId, name, prefix, lastFour }: Key) =>
    openDialog(html`<${Confirm} after=${reload} title=${`Revoke “${name}”?`} action="Revoke key" said="Key revoked"
        send=${sends('DELETE /api/apps/:clientId/keys/:keyId', { clientId, keyId })}>
        <p>Requests with <code>${prefix}…${lastFour}</code> are refused with 401 from now on. This cannot be undone.</p>
      <//>`);
  const actionsOf = (key: Key) => html`<div class="row-actions">
    ${may('rollKey') && html`<button type="button" aria-label=${`Roll ${key.name}`} onClick=${() => roll(key)}>Roll</button>`}
    ${may('revokeKey') && html`<button type="button" class="danger-quiet" aria-label=${`Revoke ${key.name}`} onClick=${() => revoke(key)}>Revoke</button>`}
  </div>`;
  return html`
    <${PageHead} title="API keys" aside=${may('createKey') && html`<button type="button" class="primary" onClick=${create}>Create key</button>`}>
      <p class="sub">Sent as <code>x-api-key</code>. A revoked key stops working within a second, 30 seconds at worst.</p>
    <//>
    <${Rows} empty=${html`<${Empty} title="No working key"><p>Checks of this app need one.</p><//>`}>${app.keys.filter((key) => !isDead(key)).map((key) => drawKey(key, actionsOf(key)))}<//>
    ${dead.length > 0 && html`<button type="button" class="plain" aria-expanded=${showsDead} onClick=${() => setShowsDead(!showsDead)}>${showsDead ? 'Hide' : 'Show'} revoked and expired keys (${dead.length})</button>`}
    ${showsDead && html`<ul class="rows dim">${dead.map((key) => drawKey(key))}</ul>`}
  `;
}

/** A row of a list of keys. */
export function drawKey(key: Key, actions?: VNode) {
  const { keyId, name, prefix, lastFour, marketplace, permissions, createdAt, expiresAt } = key;
  const { revokedAt, lastUsedAt } = key;
  return html`<li key=${keyId}>
    <div class="grow">
      <p class="row-title break">${name} ${marketplace && html`<${Badge}>Marketplace<//>`}
        ${' '}${permissions.length < PERMISSIONS.length && html`<${Badge}>Only ${permissions.join(' and ')}<//>`}</p>
      <p class="sub"><code>${prefix}…${lastFour}</code></p>
    </div>
    <p class="sub facts">
      ${lastUsedAt ? html`<span>Used <${Time} at=${lastUsedAt} /></span>` : html`<span>Never used</span>`}
      <span>Created ${formatDate(createdAt)}</span>
      ${revokedAt && html`<span>Revoked <${Time} at=${revokedAt} /></span>`}
      ${!revokedAt && expiresAt && html`<span>${isDead(key) ? 'Expired' : 'Expires'} <${Time} at=${expiresAt} /></span>`}
    </p>
    ${actions}
  </li>`;
}
