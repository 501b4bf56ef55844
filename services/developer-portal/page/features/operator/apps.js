import { ask } from '../../lib/api.js';
import { html, useState } from '../../lib/html.js';
import { useQuery } from '../../lib/router.js';
import { usePages } from '../../lib/use-pages.js';
import { Confirm } from '../../ui/confirm.js';
import { PageHead } from '../../ui/page-head.js';
import { Pages } from '../../ui/pages.js';
import { SearchField } from '../../ui/search-field.js';
import { Segments } from '../../ui/segments.js';
import { Badge, ScopeBadge } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';

const FILTERS = [
  ['', 'All'],
  ['true', 'Suspended'],
  ['false', 'Active'],
];

export const AppBadges = ({ app: { suspended, scope, tier } }) =>
  html`${suspended && html`<${Badge} tone="bad">Suspended<//>`}<${ScopeBadge} state=${scope.state} /><${Badge}>${tier}<//>`;

/** All client apps, searched by name, id or their account's address; one can be suspended, and brought back. */
export function OperatorApps() {
  const [filters, setQuery] = useQuery({ query: '', suspended: '' });
  const [asked, setAsked] = useState(undefined);
  const pathOf = (after) => {
    const given = Object.entries({ ...filters, after }).filter(([, value]) => value);
    return `/api/operator/apps?${new URLSearchParams(given)}`;
  };
  const pages = usePages(
    pathOf,
    ({ apps }) => apps,
    ({ clientId }) => clientId,
  );
  return html`
    <${PageHead} title="Apps" aside=${html`<${Segments} label="Which apps" options=${FILTERS} value=${filters.suspended} onChange=${(suspended) => setQuery({ suspended })} />`} />
    <${SearchField} label="Find by name, client ID or e-mail address" value=${filters.query} onSearch=${(query) => setQuery({ query })} />
    <${Pages} pages=${pages} empty="No app matches.">${(apps) =>
      html`<ul class="rows">${apps.map((app) => html`<${Row} key=${app.clientId} app=${app} onAsk=${() => setAsked(app)} />`)}</ul>`}<//>
    ${
      asked &&
      html`<${Suspension} app=${asked} onClose=${() => setAsked(undefined)} onDone=${() => {
        setAsked(undefined);
        pages.first.reload();
      }} />`
    }
  `;
}

const Row = ({ app, onAsk }) => html`<li>
  <div class="grow"><a class="row-link break" href=${`/operator/apps/${encodeURIComponent(app.clientId)}`}>${app.name}</a>
    <p class="sub break">${app.email} · <code>${app.clientId}</code></p></div>
  <div class="badges"><${AppBadges} app=${app} /></div>
  <div class="row-actions"><button type="button" aria-label=${`${app.suspended ? 'Resume' : 'Suspend'} ${app.name}`}
    onClick=${onAsk}>${app.suspended ? 'Resume' : 'Suspend'}</button></div>
</li>`;

/** Asks before an app is suspended or resumed. */
export function Suspension({ app: { clientId, name, suspended }, onDone, onClose }) {
  const action = suspended ? 'Resume' : 'Suspend';
  const send = () =>
    ask('POST', `/api/operator/apps/${encodeURIComponent(clientId)}/${action.toLowerCase()}`);
  const done = () => {
    toast(`${name} ${suspended ? 'resumed' : 'suspended'}`);
    onDone();
  };
  return html`<${Confirm} title=${`${action} “${name}”?`} action=${action} tone=${suspended ? '' : 'danger'} send=${send} onDone=${done} onClose=${onClose}>
    <p>${suspended ? 'Its keys work again within a second.' : 'All its requests are answered with 403 until it is resumed.'}</p>
  <//>`;
}
