import { formatCount, formatDate, formatPlural } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useResource } from '../../lib/use-resource.js';
import { Identifier } from '../../ui/copy.js';
import { Facts, limitPairs } from '../../ui/facts.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Card, Empty, Loaded, Time } from '../../ui/states.js';
import { ScopeTexts } from '../apps/scope.js';
import { BatchBadge } from '../batches/batches.js';
import { STATES } from '../deliveries/deliveries.js';
import { Missing } from '../frame/missing.js';
import { WatchBadge } from '../watches/watches.js';
import { AppBadges, Suspension } from './apps.js';
import { RecentAudit } from './audit.js';

/** One app as operators see it: this month, its limits, keys, webhooks, batches, watches and last changes. */
export function OperatorApp({ item }) {
  const resource = useResource(`/api/operator/apps/${encodeURIComponent(item)}`);
  const [asked, setAsked] = useState(false);
  const [round, setRound] = useState(0);
  if (resource.error?.status === 404) return html`<${Missing} />`;
  return html`<${Loaded} resource=${resource} title="App">${(app) => html`
    <${PageHead} title=${app.name} aside=${html`<button type="button" onClick=${() => setAsked(true)}>${app.suspended ? 'Resume' : 'Suspend'}</button>`}>
      <p class="badges"><${Identifier} value=${app.clientId} what="Client ID" /><${AppBadges} app=${app} /></p>
      <p class="sub break">Of <a href=${`/operator/accounts/${encodeURIComponent(app.accountId)}`}>${app.email || app.accountId}</a></p>
    <//>
    <div class="two">
      <${Card} title="Usage"><${Facts} pairs=${[
        ['Checks this month', `${formatCount(app.month.used)} of ${formatCount(app.month.quota)}`],
        ['Since', formatDate(app.createdAt)],
        ...Object.entries(app.webhooks).map(([state, count]) => [
          `Webhooks: ${STATES[state][1].toLowerCase()}`,
          formatCount(count),
        ]),
      ]} />
        <p class="hint">Webhooks: the newest 100.</p>
      <//>
      <${Card} title="Limits"><${Facts} pairs=${limitPairs(app.limits)} /><//>
    </div>
    ${app.scope.purpose && html`<${Card} title="Scope"><${ScopeTexts} ...${app.scope} /><//>`}
    <${Card} title="API keys"><${Keys} keys=${app.keys} /><//>
    <${Card} title="Batches">${
      app.batches.length === 0
        ? html`<p class="sub">No batch with stored results.</p>`
        : html`<ul class="rows inner">${app.batches.map(
            ({ requestId, status, done, entries, acceptedAt }) => html`<li key=${requestId}>
              <div class="grow"><p class="mono break">${requestId}</p><p class="sub">${formatCount(done)} of ${formatPlural(entries, 'entry', 'entries')}</p></div>
              <div class="badges"><${BatchBadge} status=${status} /></div><p class="sub facts"><${Time} at=${acceptedAt} /></p>
            </li>`,
          )}</ul>`
    }<//>
    <${Card} title="Watches">${
      app.watches.length === 0
        ? html`<p class="sub">No watch.</p>`
        : html`<ul class="rows inner">${app.watches.map(
            ({ watchId, state, members, ruleSet }) => html`<li key=${watchId}>
              <div class="grow"><p class="break">${watchId}</p><p class="sub">${formatPlural(members, 'member')} under <code>${ruleSet}</code></p></div>
              <div class="badges"><${WatchBadge} state=${state} /></div>
            </li>`,
          )}</ul>`
    }<//>
    <${RecentAudit} key=${round} filters=${{ app: app.clientId }} />
    ${
      asked &&
      html`<${Suspension} app=${app} onClose=${() => setAsked(false)} onDone=${() => {
        setAsked(false);
        resource.reload();
        setRound(round + 1);
      }} />`
    }
  `}<//>`;
}

const Keys = ({ keys }) =>
  keys.length === 0
    ? html`<${Empty} title="No key"><p>This app cannot be used.</p><//>`
    : html`<ul class="rows inner">${keys.map(
        ({
          keyId,
          name,
          prefix,
          lastFour,
          marketplace,
          revokedAt,
          expiresAt,
          lastUsedAt,
        }) => html`<li key=${keyId}>
          <div class="grow"><p class="break">${name}</p><p class="sub"><code>${prefix}…${lastFour}</code> · <code>${keyId}</code></p></div>
          <div class="badges">${marketplace && html`<${Badge}>Marketplace<//>`}${revokedAt && html`<${Badge} tone="bad">Revoked<//>`}</div>
          <p class="sub facts">${lastUsedAt ? html`<span>Used <${Time} at=${lastUsedAt} /></span>` : html`<span>Never used</span>`}
            ${expiresAt && html`<span>Expires <${Time} at=${expiresAt} /></span>`}</p>
        </li>`,
      )}</ul>`;
