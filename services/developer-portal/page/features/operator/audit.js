import { html } from '../../lib/html.js';
import { useQuery } from '../../lib/router.js';
import { usePages } from '../../lib/use-pages.js';
import { useResource } from '../../lib/use-resource.js';
import { Field } from '../../ui/field.js';
import { PageHead } from '../../ui/page-head.js';
import { Pages } from '../../ui/pages.js';
import { Card, Loaded } from '../../ui/states.js';
import { ACTIONS, AuditList } from '../apps/audit-list.js';

const FILTERS = { account: '', app: '', action: '', since: '', until: '' };
const RECENT_COUNT = 10;

function pathOf({ since, until, ...filters }, before) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filters, before }))
    if (value) query.set(name, value.trim());
  for (const [name, value] of Object.entries({ since, until }))
    if (value && !Number.isNaN(Date.parse(value))) query.set(name, new Date(value).toISOString());
  return `/api/operator/audit?${query}`;
}

/** The audit entries of all accounts, with filters that stay in the address. */
export function OperatorAudit() {
  const [filters, setFilters] = useQuery(FILTERS);
  const change = (name) => (event) => setFilters({ [name]: event.target.value.trim() });
  const pages = usePages(
    (next) => pathOf(filters, next),
    ({ entries }) => entries,
  );
  const field = (name, label, rest = {}) =>
    html`<${Field} label=${label} name=${name} value=${filters[name]} onChange=${change(name)} ...${rest} />`;
  return html`
    <${PageHead} title="Audit" aside=${html`<button type="button" onClick=${pages.first.reload}>Refresh</button>`}>
      <p class="sub">Every change, with its author. The newest 10 000 entries of all accounts are kept, and 500 of each account and app.</p>
    <//>
    <${Card}>
      <div class="filters">
        ${field('account', 'Account', { maxlength: '254', placeholder: 'E-mail address or ID' })}
        ${field('app', 'App', { maxlength: '64', placeholder: 'Client ID' })}
        <${Field} label="Action" as="select" name="action" value=${filters.action} onChange=${change('action')}>
          <option value="">All</option>
          ${Object.keys(ACTIONS).map((action) => html`<option key=${action} value=${action}>${action}</option>`)}
        <//>
        ${field('since', 'Since', { type: 'datetime-local' })}
        ${field('until', 'Until', { type: 'datetime-local' })}
      </div>
      <${Pages} pages=${pages} empty="No entry matches these filters.">${(entries) => html`<${AuditList} entries=${entries} about=${About} />`}<//>
    <//>
  `;
}

/** The account and the app of an entry, as links. */
const About = ({ entry: { accountId, email, clientId } }) => html`
  <span class="break">${email ? html`<a href=${`/operator/accounts/${encodeURIComponent(accountId)}`}>${email}</a>` : html`<code>${accountId}</code>`}</span>
  ${clientId && html`<a href=${`/operator/apps/${encodeURIComponent(clientId)}`}><code>${clientId}</code></a>`}
`;

/** The last changes of one account or app, and the way to all of them. */
export function RecentAudit({ filters }) {
  const recent = useResource(`${pathOf(filters)}&limit=${RECENT_COUNT}`);
  return html`<${Card} title="Last changes" aside=${html`<a href=${`/operator/audit?${new URLSearchParams(filters)}`}>All changes</a>`}>
    <${Loaded} resource=${recent}>${({ entries }) => html`<${AuditList} entries=${entries} />`}<//>
  <//>`;
}
