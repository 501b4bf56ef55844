import { html } from '../core/html.js';
import { useSession } from '../core/session.js';
import { Missing } from './missing.js';
import { OperatorAccounts } from './operator-accounts.js';
import { DeadLetters, SuspendedApps } from './operator-lists.js';
import { ScopeQueue } from './operator-scopes.js';

const SECTIONS = [
  ['', 'Scope requests', ScopeQueue],
  ['accounts', 'Accounts', OperatorAccounts],
  ['apps', 'Apps', SuspendedApps],
  ['dead-letters', 'Dead letters', DeadLetters],
];

/** What operators decide and look after; to all others the page does not exist. */
export function Operator({ section = '' }) {
  const { account } = useSession();
  const found = SECTIONS.find(([path]) => path === section);
  if (!account.operator || !found) return html`<${Missing} />`;
  const [, , Section] = found;
  return html`<div class="app-body">
    <nav class="side" aria-label="Operator’s pages">${SECTIONS.map(
      ([path, name]) => html`<a key=${path} href=${path ? `/operator/${path}` : '/operator'}
        aria-current=${path === section ? 'page' : undefined}>${name}</a>`,
    )}</nav>
    <div class="app-page"><${Section} key=${section} /></div>
  </div>`;
}
