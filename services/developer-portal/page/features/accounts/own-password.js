import { html } from '../../lib/html.js';
import { useSession } from '../../lib/session.js';
import { Password } from '../../ui/form.js';

/** What proves that the person of the session is there: the password, or for an account without one
 * a sign-in within the last five minutes. */
export const OwnPassword = (props) =>
  useSession().account.hasPassword
    ? html`<${Password} ...${props} />`
    : html`<p class="sub">It works within five minutes after you have signed in at your identity provider.</p>`;
