import { html } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { PageHead } from '../../ui/page-head.js';

/** Shown instead of a page whose operation the role of the account does not allow. */
export function NotAllowed({ title }) {
  const { app } = useApp();
  return html`
    <${PageHead} title=${title} />
    <p class="prose">Your role in this app, ${app.role}, does not allow this. Ask its owner for another role.</p>
  `;
}
