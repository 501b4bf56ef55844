import { html } from '../../lib/html.js';
import { useSession } from '../../lib/session.js';
import { Missing } from '../frame/missing.js';
import { OperatorAccount } from './account.js';
import { OperatorAccounts } from './accounts.js';
import { OperatorApp } from './app.js';
import { OperatorApps } from './apps.js';
import { OperatorAudit } from './audit.js';
import { DeadLetters } from './dead-letters.js';
import { ScopeQueue } from './scopes.js';

/** Path, name, component, component of one item. */
const SECTIONS = [
  ['', 'Scope requests', ScopeQueue],
  ['accounts', 'Accounts', OperatorAccounts, OperatorAccount],
  ['apps', 'Apps', OperatorApps, OperatorApp],
  ['audit', 'Audit', OperatorAudit],
  ['dead-letters', 'Dead-lettered records', DeadLetters],
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
