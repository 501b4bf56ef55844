import { html } from '../../lib/html.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { toast } from '../../ui/toasts.js';
import { CodeStep } from './code-field.js';
import { useSignIn } from './use-sign-in.js';

/** Asks for the password over the page, which keeps the typed values. Nothing of the page is readable meanwhile. */
export function SignInAgain({ account, onSignedIn, onLeave }) {
  const { form, needsCode } = useSignIn(
    ({ password }) => ({ email: account.email, password }),
    (signedIn) => {
      onSignedIn(signedIn);
      toast('Signed in again');
    },
  );
  return html`<${Dialog} title="Your session has ended" isCovering=${true}>
    <${Form} form=${form} submit="Sign in" cancel="Use another account" onCancel=${onLeave}>
      <p class="prose">Sign in again to continue where you were. Your input is kept.</p>
      <p class="sub break">${account.email}</p>
      <input type="hidden" name="email" autocomplete="username" value=${account.email} />
      <${Field} label="Password" name="password" type="password" required maxlength="128" autofocus
        autocomplete="current-password" fault=${form.faults['/password']} />
      ${needsCode && html`<${CodeStep} fault=${form.faults['/code']} />`}
    <//>
  <//>`;
}
