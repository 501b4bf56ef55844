import { formatCount } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { useSession } from '../../lib/session.js';
import { Card, loaded, PageHead, refreshButton } from '../../ui/page.js';
import { Table } from '../../ui/values.js';
import { Menu } from '../apps/app.js';
import { Missing } from '../frame/frame.js';
import { OperatorAccount, OperatorAccounts } from './accounts.js';
import { OperatorApp, OperatorApps } from './apps.js';
import { OperatorAudit } from './audit.js';
import { OperatorChains } from './chains.js';
import { ScopeQueue } from './scopes.js';

/**
 * Path, name, component, component of one item.
 * @type {[path: string, name: string, page: object, item?: object][]}
 */
const SECTIONS = [
  ['', 'Scope requests', ScopeQueue],
  ['accounts', 'Accounts', OperatorAccounts, OperatorAccount],
  ['apps', 'Apps', OperatorApps, OperatorApp],
  ['audit', 'Audit', OperatorAudit],
  ['chains', 'Chains', OperatorChains],
  ['dead-letters', 'Dead-lettered records', DeadLetters],
];

/** The operators' page; for all others it does not exist. */
export function Operator({ section = '', item }) {
  const { account } = useSession();
  const found = SECTIONS.find(([path]) => path === section);
  const page = item === undefined ? found?.[2] : found?.[3];
  if (!account.operator || !page) return html`<${Missing} />`;
  return html`<div class="app-body">
    <${Menu} label="Operator’s pages" base="/operator" section=${section} sections=${SECTIONS} />
    <div class="app-page"><${page} key=${`${section}/${item}`} item=${item} /></div>
  </div>`;
}

/** The number of dead-lettered records of each topic. The admin command resends or drops them. */
function DeadLetters() {
  const letters = useResource('GET /api/operator/dead-letters', {});
  return html`
    <${PageHead} title="Dead-lettered records" aside=${refreshButton(letters)}>
      <p class="sub">Records that could not be processed. List them with <code>npm run admin -- dead-letter list TOPIC</code>.</p>
    <//>
    ${loaded(
      letters,
      (list) => html`<${Card}>
      ${list.every(({ count }) => count === 0) && html`<p class="notice good">No topic has dead-lettered records.</p>`}
      <${Table} label="Dead-lettered records by topic" heads=${['Topic', '#Waiting']}>${list.map(
        ({ topic, count }) =>
          html`<tr key=${topic}><th scope="row"><code>${topic}</code></th><td class="number">${formatCount(count)}</td></tr>`,
      )}<//>
    <//>`,
    )}
  `;
}
