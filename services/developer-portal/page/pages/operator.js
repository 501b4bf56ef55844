import { html } from '../core/html.js';
import { useSession } from '../core/session.js';
import { Missing } from './missing.js';
import { OperatorAccount } from './operator-account.js';
import { OperatorAccounts } from './operator-accounts.js';
import { OperatorApp } from './operator-app.js';
import { OperatorApps } from './operator-apps.js';
import { OperatorAudit } from './operator-audit.js';
import { DeadLetters } from './operator-dead-letters.js';
import { ScopeQueue } from './operator-scopes.js';

/** Path, name, component, component of one item. */
const SECTIONS = [
  ['', 'Scope requests', ScopeQueue],
  ['accounts', 'Accounts', OperatorAccounts, OperatorAccount],
  ['apps', 'Apps', OperatorApps, OperatorApp],
  ['audit', 'Audit', OperatorAudit],
  ['dead-letters', 'Dead letters', DeadLetters],
];

/** The operators' page; for all others it does not exist. */
export function Operator({ section = '', item }) {
  const { account } = useSession();
  const found = SECTIONS.find(([path]) => path === section);
  const Section = item === undefined ? found?.[2] : found?.[3];
  if (!account.operator || !Section) return html`<${Missing} />`;
  return html`<div class="app-body">
    <nav class="side" aria-label="Operator’s pages">${SECTIONS.map(
      ([path, name]) => html`<a key=${path} href=${path ? `/operator/${path}` : '/operator'}
        aria-current=${path === section ? 'page' : undefined}>${name}</a>`,
    )}</nav>
    <div class="app-page"><${Section} key=${`${section}/${item}`} item=${item} /></div>
  </div>`;
}
