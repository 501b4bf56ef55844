import { ask } from '../../lib/api.js';
import { html, useState } from '../../lib/html.js';
import { useRead } from '../../lib/resources.js';
import { Field, Password, SendForm } from '../../ui/form.js';
import { loaded } from '../../ui/page.js';
import { Welcome } from '../frame/frame.js';
import { wantedPath, withReturn } from './return-path.js';

/** Has a link for a new password sent, where the portal sends e-mail; else says whom to ask. */
export function ForgottenPassword() {
  const options = useRead('sign-in-options', () => ask('GET /api/sign-in-options'));
  const [sentTo, setSentTo] = useState('');
  return html`<${Welcome} title="Forgotten your password?">
    ${loaded(options, ({ resetLinkByEmail }) => {
      if (!resetLinkByEmail)
        return html`<p class="prose">Ask an operator of this service for a link by which you set a new one.</p>`;
      if (sentTo)
        return html`<p class="notice break" role="status">If ${sentTo} has an account, a link for a new password is on its way. It works
          for an hour. If none comes, look into your spam folder, or ask an operator.</p>`;
      return html`<${SendForm} submit="Send link" send=${askForLink} onDone=${setSentTo}>
        <${Field} label="E-mail address" name="email" type="email" required maxlength="254" autocomplete="username" autofocus
          hint="We send you a link by which you set a new password." />
      <//>`;
    })}
    <p class="other"><a href=${withReturn('/sign-in', wantedPath(location))}>Sign in</a></p>
  <//>`;
}

const askForLink = async ({ email }) => {
  await ask('POST /api/forgotten-password', { body: { email } });
  return email;
};

/**
 * Sets a new password by an operator's link. Its token is in the fragment, which browsers never
 * send to a server.
 */
export function ResetPassword() {
  const [token] = useState(() => location.hash.slice(1));
  const [isDone, setIsDone] = useState(false);
  const done = () => {
    history.replaceState(null, '', location.pathname);
    setIsDone(true);
  };
  return html`<${Welcome} title="Set a new password">
    ${
      isDone
        ? html`<p class="notice" role="status">Your password is set, and all sessions have ended.</p>`
        : token === ''
          ? html`<p class="notice bad" role="alert">This link is incomplete. Open the whole link that the operator sent you.</p>`
          : html`<${SendForm} submit="Set password" onDone=${done}
              send=${({ password }) => ask('POST /api/reset-password', { body: { token, password } })}>
              <${Password} label="New password" isNew autofocus />
            <//>`
    }
    <p class="other"><a href="/sign-in">Sign in</a></p>
  <//>`;
}
