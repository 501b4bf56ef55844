import { ask } from '../../lib/api.js';
import { html, useEffect, useRef, useState, when } from '../../lib/html.js';
import { useRead } from '../../lib/resources.js';
import { navigate } from '../../lib/router.js';
import { useSubmit } from '../../lib/submit.js';
import { CodeField, Dialog, Field, Form, Password } from '../../ui/form.js';
import { loaded } from '../../ui/page.js';
import { toast } from '../../ui/toasts.js';
import { Welcome } from '../frame/frame.js';
import { wantedPath, withReturn } from './return-path.js';
import { SingleSignOnButton } from './single-sign-on.js';

/** @import { Account } from '../../lib/types.ts' */
/** @typedef {(account: Account) => void} OnSignedIn */

/**
 * A form that signs in. For an account with a second factor, a second step asks for its code.
 * @param {(values: Record<string, any>) => Promise<{ email: string, password: string }>}
 *   makeCredentials may do something first
 * @param {OnSignedIn} onSignedIn
 * @returns the form, and the second step once the password was right and the code is missing
 */
function useSignIn(makeCredentials, onSignedIn) {
  const [needsCode, setNeedsCode] = useState(false);
  const send = async (values) => {
    const code = values['code'];
    const body = { ...(await makeCredentials(values)), ...(code && { code }) };
    return ask('POST /api/sign-in', { body }).catch((error) => {
      if (error.code === 'code-required') return undefined;
      throw error;
    });
  };
  const form = useSubmit(send, (answer) => (answer ? onSignedIn(answer.account) : setNeedsCode(true)));
  return { form, codeStep: needsCode && html`<${CodeStep} />` };
}

/** The second step of signing in: takes the focus when it appears. */
function CodeStep() {
  const step = useRef(/** @type {any} */ (null));
  useEffect(() => step.current.querySelector('input').focus(), []);
  return html`<div ref=${step}><${CodeField} hint="From your authenticator app, or one of your recovery codes." /></div>`;
}

/**
 * Signing in and signing up. Signing up signs in as well; the answer does not show whether an
 * address was known.
 * @param {{ isNew: boolean, account: Account | null, onSignedIn: OnSignedIn }} props
 */
export function SignIn({ isNew, account, onSignedIn }) {
  const wanted = wantedPath(location);
  const [, invitation] = /^\/invitation#(.+)$/.exec(wanted) ?? [];
  const options = useRead('sign-in-options', () => ask('GET /api/sign-in-options'));
  const mode = options.value?.signUp;
  const maySignUp = mode === 'open' || (mode === 'invite' && invitation !== undefined);
  const { form, codeStep } = useSignIn(
    async ({ email, password }) => {
      if (isNew)
        await ask('POST /api/sign-up', {
          body: { email, password, ...(mode === 'invite' && { invitation }) },
        });
      return { email, password };
    },
    (signedIn) => {
      onSignedIn(signedIn);
      if (location.pathname.startsWith('/sign-')) navigate(wanted, { replace: true });
    },
  );
  // The answer does not show whether the address was known.
  if (isNew && form.error?.code === 'credentials-invalid')
    form.error.message = 'The address or the password was not accepted. If you have an account, sign in.';
  return html`<${Welcome} key=${isNew} title=${isNew ? 'Create your account' : 'Sign in'} aside=${html`<${About} />`}>
    ${wanted.startsWith('/invitation') && html`<p class="notice">You are invited to the team of an app. ${isNew ? 'Create your account' : maySignUp ? 'Sign in, or create an account,' : 'Sign in'} to see the invitation.</p>`}
    ${when(account, ({ email }) => html`<p class="notice">You are signed in as ${email}. <a href=${wanted}>Go on</a></p>`)}
    ${
      isNew && !maySignUp
        ? loaded(options, () => html`<p class="notice">${WHY_NOT[mode ?? 'closed']}</p>`)
        : html`<${Form} form=${form} submit=${isNew ? 'Create account' : 'Sign in'}>
      <${Field} label="E-mail address" name="email" type="email" required maxlength="254" autocomplete="username" autofocus />
      <${Password} isNew=${isNew} hint=${isNew ? 'At least 12 characters. A sentence is easy to remember.' : undefined} />
      ${codeStep}
    <//>`
    }
    ${options.value?.singleSignOn && !codeStep && html`<${SingleSignOnButton} />`}
    ${!isNew && !codeStep && html`<p class="other"><a href=${withReturn('/forgotten-password', wanted)}>Forgotten your password?</a></p>`}
    <p class="other">${
      isNew
        ? html`Have an account? <a href=${withReturn('/sign-in', wanted)}>Sign in</a>`
        : maySignUp
          ? html`New here? <a href=${withReturn('/sign-up', wanted)}>Create an account</a>`
          : mode && WHY_NOT[mode]
    }</p>
    <p class="other">Developer? Read the <a href="/docs">API documentation</a> or download the <a href="/openapi.json">OpenAPI document</a>.</p>
  <//>`;
}

/** Why this visitor sees no form for a new account. @type {Record<string, string>} */
const WHY_NOT = {
  invite: 'New here? You need an invitation: open the whole link that somebody of a team sent you.',
  closed: 'New here? Ask an operator of this service for an account: nobody can sign up here.',
};

const About = () => html`<aside aria-label="What Rolecall does">
  <h2>Given a wallet and a list of token rules, which roles does it have?</h2>
  <p>Post a wallet and rules. Learn which roles are granted: at once, by polling, or by a signed webhook. A
    balance that could not be read is never a “no”.</p>
  <figure class="sample" aria-label="An answer">
    <div><span>holder</span><strong class="granted">granted</strong></div>
    <div><span>vip</span><strong class="denied">denied</strong></div>
    <div><span>founder</span><strong class="undetermined">undetermined</strong></div>
    <figcaption>read at one proved block of each chain</figcaption>
  </figure>
</aside>`;

/**
 * Asks for the password over the page, which keeps the typed values. Nothing of the page is
 * readable meanwhile.
 * @param {{ account: Account, onSignedIn: OnSignedIn, onLeave: () => void }} props
 */
export function SignInAgain({ account, onSignedIn, onLeave }) {
  const { form, codeStep } = useSignIn(
    async ({ password }) => ({ email: account.email, password }),
    (signedIn) => {
      onSignedIn(signedIn);
      toast('Signed in again');
    },
  );
  if (!account.hasPassword)
    return html`<${Dialog} title="Your session has ended" isCovering=${true}>
      <p class="sub break">${account.email}</p>
      <div class="actions"><${SingleSignOnButton} /><button type="button" onClick=${onLeave}>Use another account</button></div>
    <//>`;
  return html`<${Dialog} title="Your session has ended" isCovering=${true}>
    <${Form} form=${form} submit="Sign in" cancel="Use another account" onCancel=${onLeave}>
      <p class="prose">Sign in again to continue where you were. Your input is kept.</p>
      <p class="sub break">${account.email}</p>
      <input type="hidden" name="email" autocomplete="username" value=${account.email} />
      <${Password} autofocus />
      ${codeStep}
    <//>
  <//>`;
}
