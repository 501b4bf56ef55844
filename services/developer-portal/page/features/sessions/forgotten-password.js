import { ask } from '../../lib/api.js';
import { html, useEffect, useState } from '../../lib/html.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { PageHead } from '../../ui/page-head.js';
import { Loaded } from '../../ui/states.js';
import { Mark } from '../frame/frame.js';
import { wantedPath, withReturn } from './return-path.js';

/** Has a link for a new password sent, where the portal sends e-mail; else says whom to ask. */
export function ForgottenPassword() {
  const [round, setRound] = useState(0);
  const [options, setOptions] = useState({});
  useEffect(() => {
    ask('GET', '/api/sign-in-options').then(
      (value) => setOptions({ value }),
      (error) => setOptions({ error }),
    );
  }, [round]);
  return html`<div class="welcome">
    <main id="main" tabindex="-1">
      <a class="brand" href="/sign-in"><${Mark} />Rolecall</a>
      <${PageHead} title="Forgotten your password?" />
      <${Loaded} resource=${{ ...options, reload: () => setRound(round + 1) }}>${({ resetLinkByEmail }) =>
        resetLinkByEmail
          ? html`<${AskForLink} />`
          : html`<p class="prose">Ask an operator of this service for a link by which you set a new one.</p>`}<//>
      <p class="other"><a href=${withReturn('/sign-in', wantedPath(location))}>Sign in</a></p>
    </main>
  </div>`;
}

function AskForLink() {
  const [sentTo, setSentTo] = useState(undefined);
  const form = useSubmit(async ({ email }) => {
    await ask('POST', '/api/forgotten-password', { body: { email } });
    return email;
  }, setSentTo);
  if (sentTo)
    return html`<p class="notice break" role="status">If ${sentTo} has an account, a link for a new password is on its way. It works
      for an hour. If none comes, look into your spam folder, or ask an operator.</p>`;
  return html`<${Form} form=${form} submit="Send link">
    <${Field} label="E-mail address" name="email" type="email" required maxlength="254" autocomplete="username" autofocus
      hint="We send you a link by which you set a new password." fault=${form.faults['/email']} />
  <//>`;
}
