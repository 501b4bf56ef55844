import { html } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { PageHead } from '../../ui/page-head.js';
import { Loaded } from '../../ui/states.js';
import { AuditList } from './audit-list.js';

/** The app's audit trail. */
export function Activity() {
  const { api } = useApp();
  const audit = useResource(`${api}/audit`);
  return html`
    <${PageHead} title="Activity"><p class="sub">Every change of this app, with its author. Entries cannot be removed.</p><//>
    <${Loaded} resource=${audit}>${(entries) => html`<${AuditList} entries=${entries} />`}<//>
  `;
}
