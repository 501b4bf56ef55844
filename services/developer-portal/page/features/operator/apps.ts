import { sends } from '../../lib/api.ts';
import { formatCount, formatDate, formatPlural } from '../../lib/format.ts';
import { html } from '../../lib/html.ts';
import { usePages, useResource } from '../../lib/resources.ts';
import { useQuery } from '../../lib/router.ts';
import { useMayChange } from '../../lib/session.ts';
import { Identifier } from '../../ui/copy.ts';
import { Confirm, openDialog, SearchField, Segments } from '../../ui/form.ts';
import { Card, Empty, loadedPage, Paged, PageHead } from '../../ui/page.ts';
import { Badge, choicesOf, Facts, limitPairs, Rows, StateBadge, Time } from '../../ui/values.ts';
import { drawKey } from '../apps/keys.ts';
import { ScopeTexts } from '../apps/scope.ts';
import { RecentAudit } from './audit.ts';

const FILTERS = Object.entries({ '': 'All', true: 'Suspended', false: 'Active' });

export const AppBadges = ({ app: { suspended, scope, tier } }) =>
  html`${suspended && html`<${Badge} tone="bad">Suspended<//>`}<${StateBadge} of="scope" state=${scope.state} /><${Badge}>${tier}<//>`;

const drawSuspension = ({ clientId, name, suspended }, after) =>
  suspended
    ? html`<${Confirm} after=${after} title=${`Resume “${name}”?`} action="Resume" tone="" said=${`${name} resumed`}
        send=${sends('POST /api/operator/apps/:clientId/resume', { clientId })}><p>Its keys work again within a second, 30 seconds at worst.</p><//>`
    : html`<${Confirm} after=${after} title=${`Suspend “${name}”?`} action="Suspend" said=${`${name} suspended`}
        send=${sends('POST /api/operator/apps/:clientId/suspend', { clientId })}><p>All its requests are answered with 403 until it is resumed.</p><//>`;

export function OperatorApps() {
  const [filters, setQuery] = useQuery({ query: '', suspended: '' });
  const pages = usePages('GET /api/operator/apps', {}, 'apps', filters, 'clientId');
  return html`
    <${PageHead} title="Apps" aside=${html`<${Segments} label="Which apps" options=${FILTERS} value=${filters.suspended} onChange=${(suspended) => setQuery({ suspended })} />`} />
    <${SearchField} label="Find by name, client ID or e-mail address" value=${filters.query} onSearch=${(query) => setQuery({ query })} />
    <${Paged} of=${pages} empty=${html`<${Empty} title="Nothing found"><p>No app matches.</p><//>`}><ul class="rows">${pages.rows.map(
      (app) => html`<li key=${app.clientId}>
        <div class="grow"><a class="row-link break" href=${`/operator/apps/${encodeURIComponent(app.clientId)}`}>${app.name}</a>
          <p class="sub break">${app.email} · <code>${app.clientId}</code></p></div>
        <div class="badges"><${AppBadges} app=${app} /></div>
      </li>`,
    )}</ul><//>
  `;
}

export function OperatorApp({ item }) {
  const resource = useResource('GET /api/operator/apps/:clientId', { clientId: item });
  const mayChange = useMayChange();
  return loadedPage(
    resource,
    'App',
    (app) => html`
    <${PageHead} title=${app.name} aside=${mayChange && html`<button type="button" onClick=${() => openDialog(drawSuspension(app, resource.reload))}>${app.suspended ? 'Resume' : 'Suspend'}</button>`}>
      <p class="badges"><${Identifier} value=${app.clientId} what="Client ID" /><${AppBadges} app=${app} /></p>
      <p class="sub break">Of <a href=${`/operator/accounts/${encodeURIComponent(app.accountId)}`}>${app.email || app.accountId}</a></p>
    <//>
    <div class="two">
      <${Card} title="Usage"><${Facts} pairs=${[
        ['Checks this month', `${formatCount(app.month.used)} of ${formatCount(app.month.quota)}`],
        ['Since', formatDate(app.createdAt)],
        ...choicesOf('delivery').map(([state, text]) => [
          `Webhooks: ${text.toLowerCase()}`,
          formatCount(app.webhooks[state as keyof typeof app.webhooks]),
        ]),
      ]} />
        <p class="hint">Webhooks: the newest 100.</p>
      <//>
      <${Card} title="Limits"><${Facts} pairs=${limitPairs(app.limits)} /><//>
    </div>
    ${app.scope.purpose && html`<${Card} title="Scope"><${ScopeTexts} ...${app.scope} /><//>`}
    <${Card} title="API keys"><${Rows} class="inner" empty=${html`<${Empty} title="No key"><p>This app cannot be used.</p><//>`}>${app.keys.map(
      (key) => drawKey(key, html`<code class="sub">${key.keyId}</code>`),
    )}<//><//>
    <${Card} title="Batches"><${Rows} class="inner" empty=${html`<p class="sub">No batch with stored results.</p>`}>${app.batches.map(
      ({ requestId, status, done, entries, acceptedAt }) => html`<li key=${requestId}>
        <div class="grow"><p class="mono break">${requestId}</p><p class="sub">${formatCount(done)} of ${formatPlural(entries, 'entry', 'entries')}</p></div>
        <div class="badges"><${StateBadge} of="batch" state=${status} /></div><p class="sub facts"><${Time} at=${acceptedAt} /></p>
      </li>`,
    )}<//><//>
    <${Card} title="Watches"><${Rows} class="inner" empty=${html`<p class="sub">No watch.</p>`}>${app.watches.map(
      ({ watchId, state, members, ruleSet }) => html`<li key=${watchId}>
        <div class="grow"><p class="break">${watchId}</p><p class="sub">${formatPlural(members, 'member')} under <code>${ruleSet}</code></p></div>
        <div class="badges"><${StateBadge} of="watch" state=${state} /></div>
      </li>`,
    )}<//><//>
    <${RecentAudit} filters=${{ app: item }} after=${app} />
  `,
  );
}
