import { html } from '../core/html.js';
import { useApp } from '../core/session.js';
import { useResource } from '../core/use-resource.js';
import { AuditList } from '../parts/audit-list.js';
import { PageHead } from '../parts/page-head.js';
import { Loaded } from '../parts/states.js';

/** The app's audit trail. */
export function Activity() {
  const { api } = useApp();
  const audit = useResource(`${api}/audit`);
  return html`
    <${PageHead} title="Activity"><p class="sub">Every change of this app, with its author. Entries cannot be removed.</p><//>
    <${Loaded} resource=${audit}>${(entries) => html`<${AuditList} entries=${entries} />`}<//>
  `;
}
