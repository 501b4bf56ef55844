import { html, useState } from '../../lib/html.js';
import { usePages, useResource } from '../../lib/resources.js';
import { useQuery } from '../../lib/router.js';
import { FilterField, instantOf, useDialog } from '../../ui/form.js';
import { Card, Empty, loaded, PageHead, paged, refreshButton } from '../../ui/page.js';
import { ACTIONS, AuditList } from '../apps/audit-list.js';

/** @import { AuditEntry } from '../../lib/types.ts' */

const RECENT_COUNT = 10;

/** The audit entries of all accounts, with filters that stay in the address. */
export function OperatorAudit() {
  const query = useQuery({ account: '', app: '', action: '', since: '', until: '' });
  const [{ since, until, ...filters }] = query;
  const pages = usePages('GET /api/operator/audit', {}, 'entries', 'before', {
    ...filters,
    since: instantOf(since),
    until: instantOf(until),
  });
  return html`
    <${PageHead} title="Audit" aside=${refreshButton(pages.first)}>
      <p class="sub">Changes, sign-ins and operators' reads of the last 90 days, and the newest 500 writes of rule sets, watches and members of each account. The command <code>audit export</code> prints all entries of 400 days.</p>
    <//>
    <${Card}>
      <div class="filters">
        <${FilterField} query=${query} label="Account" name="account" maxlength="254" placeholder="E-mail address or ID" />
        <${FilterField} query=${query} label="App" name="app" maxlength="64" placeholder="Client ID" />
        <${FilterField} query=${query} label="Action" name="action" choices=${Object.keys(ACTIONS).map((action) => [action, action])} />
        <${FilterField} query=${query} label="Since" name="since" type="datetime-local" />
        <${FilterField} query=${query} label="Until" name="until" type="datetime-local" />
      </div>
      ${paged(
        pages,
        html`<${Empty} title="Nothing found"><p>No entry matches these filters.</p><//>`,
        (entries) => html`<${AuditList} entries=${entries} about=${drawAbout} />`,
      )}
    <//>
  `;
}

/** The account and the app of an entry, as links. @param {AuditEntry} entry */
const drawAbout = ({ accountId = '', email, clientId }) => html`
  <span class="break">${email ? html`<a href=${`/operator/accounts/${encodeURIComponent(accountId)}`}>${email}</a>` : html`<code>${accountId}</code>`}</span>
  ${clientId && html`<a href=${`/operator/apps/${encodeURIComponent(clientId)}`}><code>${clientId}</code></a>`}
`;

/**
 * The dialog of a page with `RecentAudit`. When one was done, the page is read again, and by its
 * new key the last changes are too.
 * @param {{ reload: () => void }} resource
 * @returns {[...ReturnType<typeof useDialog>, round: number]} the dialog, the function that opens
 *   one, and the key
 */
export function useAuditedDialog(resource) {
  const [round, setRound] = useState(0);
  const [dialog, open] = useDialog(() => {
    resource.reload();
    setRound((last) => last + 1);
  });
  return [dialog, open, round];
}

/** The last changes of one account or app, and the way to all of them. */
export function RecentAudit({ filters }) {
  const recent = useResource('GET /api/operator/audit', {}, { ...filters, limit: RECENT_COUNT });
  return html`<${Card} title="Last changes" aside=${html`<a href=${`/operator/audit?${new URLSearchParams(filters)}`}>All changes</a>`}>
    ${loaded(recent, ({ entries }) => html`<${AuditList} entries=${entries} />`)}
  <//>`;
}
