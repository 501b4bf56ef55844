import { ask } from '../../lib/api.js';
import { html } from '../../lib/html.js';
import { navigate } from '../../lib/router.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { PageHead } from '../../ui/page-head.js';
import { Mark } from '../frame/frame.js';
import { CodeStep } from './code-field.js';
import { wantedPath, withReturn } from './return-path.js';
import { useSignIn } from './use-sign-in.js';

/** Signing in and signing up. Signing up signs in as well; the answer does not show whether an address was known. */
export function SignIn({ isNew, account, onSignedIn }) {
  const wanted = wantedPath(location);
  const words = isNew
    ? {
        title: 'Create your account',
        submit: 'Create account',
        other: 'Have an account?',
        to: withReturn('/sign-in', wanted),
        go: 'Sign in',
      }
    : {
        title: 'Sign in',
        submit: 'Sign in',
        other: 'New here?',
        to: withReturn('/sign-up', wanted),
        go: 'Create an account',
      };
  const makeCredentials = async ({ email, password }) => {
    if (isNew) await ask('POST', '/api/sign-up', { body: { email, password } });
    return { email, password };
  };
  const { form, needsCode } = useSignIn(makeCredentials, (signedIn) => {
    onSignedIn(signedIn);
    if (location.pathname.startsWith('/sign-')) navigate(wanted, { replace: true });
  });
  // The answer does not show whether the address was known.
  if (isNew && form.error?.code === 'credentials-invalid')
    form.error.message = 'The address or the password was not accepted. If you have an account, sign in.';
  return html`<div class="welcome">
    <main id="main" tabindex="-1" key=${words.to}>
      <a class="brand" href="/sign-in"><${Mark} />Rolecall</a>
      <${PageHead} title=${words.title} />
      ${wanted.startsWith('/invitation') && html`<p class="notice">You are invited to the team of an app. ${isNew ? 'Create your account' : 'Sign in, or create an account,'} to see the invitation.</p>`}
      ${account && html`<p class="notice">You are signed in as ${account.email}. <a href=${wanted}>Go on</a></p>`}
      <${Form} form=${form} submit=${words.submit}>
        <${Field} label="E-mail address" name="email" type="email" required maxlength="254" autocomplete="username"
          autofocus fault=${form.faults['/email']} />
        <${Field} label="Password" name="password" type="password" required maxlength="128"
          minlength=${isNew ? 12 : undefined} autocomplete=${isNew ? 'new-password' : 'current-password'}
          hint=${isNew ? 'At least 12 characters. A sentence is easy to remember.' : undefined}
          fault=${form.faults['/password']} />
        ${needsCode && html`<${CodeStep} fault=${form.faults['/code']} />`}
      <//>
      ${!isNew && !needsCode && html`<p class="other"><a href=${withReturn('/forgotten-password', wanted)}>Forgotten your password?</a></p>`}
      <p class="other">${words.other} <a href=${words.to}>${words.go}</a></p>
      <p class="other">Developer? Read the <a href="/docs">API documentation</a> or download the <a href="/openapi.json">OpenAPI document</a>.</p>
    </main>
    <aside aria-label="What Rolecall does">
      <h2>Given a wallet and a list of token rules, which roles does it have?</h2>
      <p>Post a wallet and rules. Learn which roles are granted: at once, by polling, or by a signed webhook. A
        balance that could not be read is never a “no”.</p>
      <figure class="sample" aria-label="An answer">
        <div><span>holder</span><strong class="granted">granted</strong></div>
        <div><span>vip</span><strong class="denied">denied</strong></div>
        <div><span>founder</span><strong class="undetermined">undetermined</strong></div>
        <figcaption>read at one proved block of each chain</figcaption>
      </figure>
    </aside>
  </div>`;
}
