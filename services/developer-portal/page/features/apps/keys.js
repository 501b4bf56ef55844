import { ask } from '../../lib/api.js';
import { formatDate } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { keptKeys, useApp } from '../../lib/session.js';
import {
  Checkbox,
  Choices,
  Confirm,
  Field,
  MakeSecrets,
  Overlap,
  options,
  useDialog,
} from '../../ui/form.js';
import { Empty, PageHead } from '../../ui/page.js';
import { Badge, rows, Time } from '../../ui/values.js';

/** @import { Key } from '../../lib/types.ts' */

const DAY_MS = 86_400_000;
/** The offered lifetimes of a key, in days; 0 is for ever. */
const LIVES = /** @type {const} */ ([
  [0, 'Never'],
  [7, 'In 7 days'],
  [30, 'In 30 days'],
  [90, 'In 90 days'],
  [365, 'In a year'],
]);

/** What a key may do; a key without `check` checks nothing. */
const PERMISSIONS = /** @type {const} */ ([
  ['check', 'Check', 'Checks and batches, and reading their results.'],
  ['read', 'Read', 'Rule sets, watches, members and deliveries.'],
  ['manage', 'Manage', 'Writing rule sets, watches and members; resending webhooks.'],
]);

/** @param {Key} key */
const isDead = ({ revokedAt, expiresAt }) =>
  revokedAt !== undefined || (expiresAt !== undefined && Date.parse(expiresAt) <= Date.now());

/** A key as people know it: its name may be that of another. @param {Key} key */
export const nameOfKey = ({ name, lastFour }) => `${name} (…${lastFour})`;

/** The choice of a new key's permissions: a marketplace key has no choice. */
function Permissions() {
  const [isMarketplace, setIsMarketplace] = useState(false);
  return html`
    <${Checkbox} label="Marketplace key" name="marketplace" checked=${isMarketplace}
      onChange=${(event) => setIsMarketplace(event.target.checked)}
      hint="A key for a third party, such as a marketplace listing: it can only check. Marketplace keys are counted per account." />
    ${
      !isMarketplace &&
      html`<${Choices} legend="This key may" pointer="/permissions">
        ${PERMISSIONS.map(([name, label, hint]) => html`<${Checkbox} key=${name} name=${name} label=${label} hint=${hint} defaultChecked />`)}
      <//>`
    }`;
}

/** What a key may do, unless it may do everything. @param {{ of: Key }} props */
export const PermissionBadges = ({ of: { permissions } }) =>
  permissions.length < PERMISSIONS.length && html`<${Badge}>Only ${permissions.join(' and ')}<//>`;

/** The app's API keys: working keys, and on request revoked and expired ones. */
export function Keys() {
  const { app, clientId, reload, may } = useApp();
  const [showsDead, setShowsDead] = useState(false);
  const [dialog, open] = useDialog(reload);
  const dead = app.keys.filter(isDead);
  const keep = ({ apiKey }) => keptKeys.set(clientId, apiKey);
  const show = (title) => (made) => ({ title, secrets: [['API key', made.apiKey]] });
  const create = () => {
    // Fixed when the form is opened: a second try must send the very same.
    const openedAtMs = Date.now();
    const send = ({ name, days, marketplace, ...ticked }, idempotencyKey) => {
      const lifeMs = Number(days) * DAY_MS;
      const expiresAt = lifeMs > 0 ? { expiresAt: new Date(openedAtMs + lifeMs).toISOString() } : {};
      const chosen = PERMISSIONS.map(([permission]) => permission).filter((permission) => ticked[permission]);
      const permissions = marketplace ? {} : { permissions: chosen };
      const body = { name, marketplace: marketplace === 'on', ...permissions, ...expiresAt };
      return ask('POST /api/apps/:clientId/keys', { params: { clientId }, body, idempotencyKey });
    };
    open(html`<${MakeSecrets} title="Create an API key" submit="Create key" send=${send}
        onMade=${keep} show=${show('Your new key')}>
        <${Field} label="Name" name="name" required maxlength="64" autofocus placeholder="Production server"
          hint="Where this key is used, so that you know what breaks when you revoke it." />
        <${Field} label="Expires" name="days" as="select" pointer="/expiresAt">${options(LIVES)}<//>
        <${Permissions} />
      <//>`);
  };
  /** Replaces a key by a new one; the old one keeps working for the chosen time.
   * @param {Key} key */
  const roll = ({ keyId, name, prefix, lastFour }) => {
    const send = ({ overlapHours }, idempotencyKey) =>
      ask('POST /api/apps/:clientId/keys/:keyId/roll', {
        params: { clientId, keyId },
        body: { overlapHours: Number(overlapHours) },
        idempotencyKey,
      });
    open(html`<${MakeSecrets} title=${`Roll “${name}”`} submit="Roll key" send=${send}
        onMade=${keep} show=${show(`The new “${name}”`)}>
        <p class="prose">You get a new key under the same name. <code>${prefix}…${lastFour}</code> keeps
          working for the overlap, so that you can deploy without a gap.</p>
        <${Overlap} label="The old key stops working" />
      <//>`);
  };
  /** @param {Key} key */
  const revoke = ({ keyId, name, prefix, lastFour }) =>
    open(html`<${Confirm} title=${`Revoke “${name}”?`} action="Revoke key" said="Key revoked"
        send=${() => ask('DELETE /api/apps/:clientId/keys/:keyId', { params: { clientId, keyId } })}>
        <p>Requests with <code>${prefix}…${lastFour}</code> are refused with 401 from now on. This cannot be undone.</p>
      <//>`);
  /** @param {Key} key */
  const drawKey = (key) => {
    const { keyId, name, prefix, lastFour, marketplace, createdAt, expiresAt, revokedAt, lastUsedAt } = key;
    const isLive = !isDead(key);
    return html`<li key=${keyId}>
      <div class="grow">
        <p class="row-title">${name} ${marketplace && html`<${Badge}>Marketplace<//>`} <${PermissionBadges} of=${key} /></p>
        <p class="sub"><code>${prefix}…${lastFour}</code></p>
      </div>
      <p class="sub facts">
        <${KeyUse} at=${lastUsedAt} />
        <span>Created ${formatDate(createdAt)}</span>
        ${revokedAt && html`<span>Revoked <${Time} at=${revokedAt} /></span>`}
        ${!revokedAt && expiresAt && html`<span>${isLive ? 'Expires' : 'Expired'} <${Time} at=${expiresAt} /></span>`}
      </p>
      ${
        isLive &&
        html`<div class="row-actions">
          ${may('rollKey') && html`<button type="button" aria-label=${`Roll ${name}`} onClick=${() => roll(key)}>Roll</button>`}
          ${may('revokeKey') && html`<button type="button" class="danger-quiet" aria-label=${`Revoke ${name}`} onClick=${() => revoke(key)}>Revoke</button>`}
        </div>`
      }
    </li>`;
  };
  return html`
    <${PageHead} title="API keys" aside=${may('createKey') && html`<button type="button" class="primary" onClick=${create}>Create key</button>`}>
      <p class="sub">Sent as <code>x-api-key</code>. A revoked key stops working within a second.</p>
    <//>
    ${rows(
      app.keys.filter((key) => !isDead(key)),
      html`<${Empty} title="No working key"><p>Checks of this app need one.</p><//>`,
      drawKey,
    )}
    ${
      dead.length > 0 &&
      html`<button type="button" class="plain" aria-expanded=${showsDead} onClick=${() => setShowsDead(!showsDead)}>
        ${showsDead ? 'Hide' : 'Show'} revoked and expired keys (${dead.length})</button>`
    }
    ${showsDead && rows(dead, null, drawKey, 'dim')}
    ${dialog}
  `;
}

/** When a key was used last. */
export const KeyUse = ({ at }) =>
  at ? html`<span>Used <${Time} at=${at} /></span>` : html`<span>Never used</span>`;
