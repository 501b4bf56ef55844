import { html } from '../../lib/html.js';
import { useSession } from '../../lib/session.js';
import { useSignOut } from '../sessions/use-sign-out.js';

const isUnder = (path, root) => path === root || path.startsWith(`${root}/`);

/** The frame around every page of a signed-in account. */
export function Frame({ path, children }) {
  const { account } = useSession();
  const signOut = useSignOut();
  const link = (href, text, isHere) =>
    html`<a href=${href} aria-current=${isHere ? 'page' : undefined}>${text}</a>`;
  return html`<div class="frame">
    <header class="top">
      <a class="brand" href="/"><${Mark} />Rolecall</a>
      <nav aria-label="Portal">
        ${link('/apps', 'Apps', (path === '/' && !account.operator) || isUnder(path, '/apps'))}
        ${account.operator && link('/operator', 'Operator', path === '/' || isUnder(path, '/operator'))}
        ${link('/account', 'Account', path === '/account')}
        <a href="/docs">API docs</a>
        ${link('/whats-new', 'What’s new', path === '/whats-new')}
      </nav>
      <div class="who"><span class="email" title=${account.email}>${account.email}</span>
        <button type="button" class="plain" onClick=${signOut}>Sign out</button></div>
    </header>
    <main id="main" tabindex="-1">${children}</main>
  </div>`;
}

/** The logo: a list whose first entry is ticked. */
export const Mark = () => html`<svg class="mark" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
  <rect width="24" height="24" rx="6.5" />
  <path d="M5.8 8.6l1.7 1.7 3-3.3M13.2 8.7h5M6 15.5h3.6M13.2 15.5h5" />
</svg>`;
