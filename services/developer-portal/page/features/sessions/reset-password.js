import { ask } from '../../lib/api.js';
import { html, useState } from '../../lib/html.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { PageHead } from '../../ui/page-head.js';
import { Mark } from '../frame/frame.js';

/** Sets a new password by an operator's link. Its token is in the fragment, which browsers never send to a server. */
export function ResetPassword() {
  const [token] = useState(() => location.hash.slice(1));
  const [isDone, setIsDone] = useState(false);
  const form = useSubmit(
    ({ password }) => ask('POST', '/api/reset-password', { body: { token, password } }),
    () => {
      history.replaceState(null, '', location.pathname);
      setIsDone(true);
    },
  );
  return html`<div class="welcome">
    <main id="main" tabindex="-1">
      <a class="brand" href="/sign-in"><${Mark} />Rolecall</a>
      <${PageHead} title="Set a new password" />
      ${isDone && html`<p class="notice" role="status">Your password is set, and all sessions have ended.</p>`}
      ${!isDone && token === '' && html`<p class="notice bad" role="alert">This link is incomplete. Open the whole link that the operator sent you.</p>`}
      ${
        !isDone &&
        token !== '' &&
        html`<${Form} form=${form} submit="Set password">
          <${Field} label="New password" name="password" type="password" required minlength="12" maxlength="128" autofocus
            autocomplete="new-password" hint="At least 12 characters." fault=${form.faults['/password']} />
        <//>`
      }
      <p class="other"><a href="/sign-in">Sign in</a></p>
    </main>
  </div>`;
}
