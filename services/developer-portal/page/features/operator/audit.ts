import type { AuditEntry } from '../../lib/api.ts';
import { instantOf } from '../../lib/format.ts';
import { html, useEffect, useRef } from '../../lib/html.ts';
import { usePages, useResource } from '../../lib/resources.ts';
import { useQuery } from '../../lib/router.ts';
import { FilterField } from '../../ui/form.ts';
import { Card, Empty, loaded, Paged, PageHead, refreshButton } from '../../ui/page.ts';
import { ACTIONS, AuditList } from '../apps/audit-list.ts';

const RECENT_COUNT = 10;

export function OperatorAudit() {
  const query = useQuery({ account: '', app: '', action: '', since: '', until: '' });
  const [{ since, until, ...filters }] = query;
  const pages = usePages('GET /api/operator/audit', {}, 'entries', {
    ...filters,
    since: instantOf(since),
    until: instantOf(until),
  });
  return html`
    <${PageHead} title="Audit" aside=${refreshButton(pages.first)}>
      <p class="sub">Changes, sign-ins and operators' reads of the last 90 days, and the newest 500 writes of rule sets, watches and members of each account. The command <code>audit export</code> prints all entries that the broker has, by default of 400 days.</p>
    <//>
    <${Card}>
      <div class="filters">
        <${FilterField} query=${query} label="Account" name="account" maxlength="254" placeholder="E-mail address or ID" />
        <${FilterField} query=${query} label="App" name="app" maxlength="64" placeholder="Client ID" />
        <${FilterField} query=${query} label="Action" name="action" choices=${Object.keys(ACTIONS).map((action) => [action, action])} />
        <${FilterField} query=${query} label="Since" name="since" type="datetime-local" />
        <${FilterField} query=${query} label="Until" name="until" type="datetime-local" />
      </div>
      <${Paged} of=${pages} empty=${html`<${Empty} title="Nothing found"><p>No entry matches these filters.</p><//>`}>
        <${AuditList} entries=${pages.rows} about=${drawAbout} /><//>
    <//>
  `;
}

const drawAbout = ({ accountId = '', email, clientId }: AuditEntry) => html`
  <span class="break">${email ? html`<a href=${`/operator/accounts/${encodeURIComponent(accountId)}`}>${email}</a>` : html`<code>${accountId}</code>`}</span>
  ${clientId && html`<a href=${`/operator/apps/${encodeURIComponent(clientId)}`}><code>${clientId}</code></a>`}
`;

/** The last changes of one account or app, read after its own page, whose reading is one of them, and
 * again when `after`, what that page shows, was read anew. */
export function RecentAudit({ filters, after }) {
  const recent = useResource('GET /api/operator/audit', {}, { ...filters, limit: RECENT_COUNT });
  const last = useRef(after);
  useEffect(() => {
    if (last.current !== after) recent.reload();
    last.current = after;
  }, [after]);
  return html`<${Card} title="Last changes" aside=${html`<a href=${`/operator/audit?${new URLSearchParams(filters)}`}>All changes</a>`}>
    ${loaded(recent, ({ entries }) => html`<${AuditList} entries=${entries} />`)}
  <//>`;
}
