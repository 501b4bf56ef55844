import { html } from '../../lib/html.ts';
import { useApp, useSession, useSignOut } from '../../lib/session.ts';
import { PageHead } from '../../ui/page.ts';

export function Frame({ path, children }) {
  const { account } = useSession();
  const signOut = useSignOut();
  const isUnder = (root) => path === root || path.startsWith(`${root}/`);
  const link = (href, text, isHere = isUnder(href)) =>
    html`<a href=${href} aria-current=${isHere ? 'page' : undefined}>${text}</a>`;
  return html`<div class="frame">
    <header class="top">
      <a class="brand" href="/"><${Mark} />Rolecall</a>
      <nav aria-label="Portal">
        ${link('/apps', 'Apps', isUnder('/apps') || (path === '/' && !account.operator))}
        ${account.operator && link('/operator', 'Operator', isUnder('/operator') || path === '/')}
        ${link('/account', 'Account')}
        <a href="/docs">API docs</a>
        <a href="/docs/versioning#what-is-new">What’s new</a>
      </nav>
      <div class="who"><span class="email" title=${account.email}>${account.email}</span>
        <button type="button" class="plain" onClick=${signOut}>Sign out</button></div>
    </header>
    <main id="main" tabindex="-1">${children}</main>
  </div>`;
}

/** The frame around the forms of visitors who are not signed in. */
export const Welcome = ({ title, children, aside }) => html`<div class="welcome">
  <main id="main" tabindex="-1">
    <a class="brand" href="/sign-in"><${Mark} />Rolecall</a>
    <${PageHead} title=${title} />
    ${children}
  </main>
  ${aside}
</div>`;

/** The logo: a list whose first entry is ticked. */
const Mark = () => html`<svg class="mark" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
  <rect width="24" height="24" rx="6.5" />
  <path d="M5.8 8.6l1.7 1.7 3-3.3M13.2 8.7h5M6 15.5h3.6M13.2 15.5h5" />
</svg>`;

/** Shown instead of a page whose operation the role of the account does not allow. */
export const NotAllowed = ({ title }) => html`
  <${PageHead} title=${title} />
  <p class="prose">Your role in this app, ${useApp().app.role}, does not allow this. Ask its owner for another role.</p>
`;

/** Says of a page of an app what does not work while its scope is not approved. */
export const NeedsScope = ({ children }) =>
  useApp().app.scope.state !== 'approved' &&
  html`<p class="notice warn">${children} <a href=${`${useApp().base}/scope`}>Request the scope</a></p>`;
