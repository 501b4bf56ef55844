import { type Account, ask, sends } from '../../lib/api.ts';
import { html, useEffect, useRef, useState } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { navigate } from '../../lib/router.ts';
import { useSubmit } from '../../lib/submit.ts';
import { CodeField, Dialog, Field, Form, Password, SendButton, SendForm } from '../../ui/form.ts';
import { loaded } from '../../ui/page.ts';
import { toast } from '../../ui/toasts.ts';
import { Welcome } from '../frame/frame.ts';
import { wantedPage } from './wanted-page.ts';

/** A form that signs in, and its second step, which asks for the code of an account with a second
 * factor once the password was right. `makeCredentials` may do something first. */
function useSignIn(
  makeCredentials: (values) => Promise<{ email: string; password: string }>,
  onSignedIn: (account: Account) => void,
) {
  const [needsCode, setNeedsCode] = useState(false);
  const send = async (values) => {
    const { code } = values;
    const body = { ...(await makeCredentials(values)), ...(code && { code }) };
    return ask('POST /api/sign-in', { body }).catch((error) => {
      if (error.code === 'code-required') return undefined;
      throw error;
    });
  };
  const form = useSubmit(send, (answer) => (answer ? onSignedIn(answer.account) : setNeedsCode(true)));
  return { form, codeStep: needsCode && html`<${CodeStep} />` };
}

function CodeStep() {
  const step = useRef<HTMLElement>(null);
  useEffect(() => step.current.querySelector('input')?.focus(), []);
  return html`<div ref=${step}><${CodeField} hint="From your authenticator app, or one of your recovery codes." /></div>`;
}

/** The token of the invitation that a page shows. */
const invitationOf = (page: string) => /^\/invitation#(.+)$/.exec(page)?.[1];

/** Signing in and signing up. Signing up signs in as well; the answer does not show whether an
 * address was known. */
export function SignIn({ isNew, account, onSignedIn }) {
  const wanted = wantedPage();
  const invitation = invitationOf(wanted);
  const options = useResource('GET /api/sign-in-options', {});
  const mode = options.value?.signUp;
  const maySignUp = mode === 'open' || (mode === 'invite' && invitation !== undefined);
  const { form, codeStep } = useSignIn(
    async ({ email, password }) => {
      const body = { email, password, ...(mode === 'invite' && { invitation }) };
      if (isNew) await ask('POST /api/sign-up', { body });
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
    ${account && html`<p class="notice">You are signed in as ${account.email}. <a href=${wanted}>Go on</a></p>`}
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
    ${!isNew && !codeStep && html`<p class="other"><a href="/forgotten-password">Forgotten your password?</a></p>`}
    <p class="other">${
      isNew
        ? html`Have an account? <a href="/sign-in">Sign in</a>`
        : maySignUp
          ? html`New here? <a href="/sign-up">Create an account</a>`
          : mode && WHY_NOT[mode]
    }</p>
    <p class="other">Developer? Read the <a href="/docs">API documentation</a> or download the <a href="/openapi.json">OpenAPI document</a>.</p>
  <//>`;
}

const WHY_NOT: Record<string, string> = {
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

/** Asks for the password over the page, which keeps the typed values. Nothing of the page is
 * readable meanwhile. */
export function SignInAgain({ account: { email, hasPassword }, onSignedIn, onLeave }) {
  const { form, codeStep } = useSignIn(
    async ({ password }) => ({ email, password }),
    (signedIn) => {
      onSignedIn(signedIn);
      toast('Signed in again');
    },
  );
  const withPassword = html`<${Form} form=${form} submit="Sign in" cancel="Use another account" onCancel=${onLeave}>
    <p class="prose">Sign in again to continue where you were. Your input is kept.</p>
    <p class="sub break">${email}</p>
    <input type="hidden" name="email" autocomplete="username" value=${email} />
    <${Password} autofocus />
    ${codeStep}
  <//>`;
  const atProvider = html`<p class="sub break">${email}</p>
    <div class="actions"><${SingleSignOnButton} /><button type="button" onClick=${onLeave}>Use another account</button></div>`;
  return html`<${Dialog} title="Your session has ended" isCovering=${true}>${hasPassword ? withPassword : atProvider}<//>`;
}

export function ForgottenPassword() {
  const options = useResource('GET /api/sign-in-options', {});
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
    <p class="other"><a href="/sign-in">Sign in</a></p>
  <//>`;
}

const askForLink = async ({ email }) => {
  await ask('POST /api/forgotten-password', { body: { email } });
  return email;
};

/** Sets a new password by an operator's link. Its token is in the fragment, which browsers never
 * send to a server. */
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
              send=${sends('POST /api/reset-password', {}, ({ password }) => ({ token, password }))}>
              <${Password} label="New password" isNew autofocus />
            <//>`
    }
    <p class="other"><a href="/sign-in">Sign in</a></p>
  <//>`;
}

/** The attempt that this tab began: what the provider's answer must fit, encrypted. */
const KEPT = 'single-sign-on';

/** Sends the browser to the identity provider, which sends it back to `/single-sign-on`. */
const SingleSignOnButton = () => html`<${SendButton} send=${begin}>Sign in at your identity provider<//>`;

async function begin() {
  const { url, attempt } = await ask('POST /api/single-sign-on/begin');
  sessionStorage.setItem(KEPT, attempt);
  // Kept for the way back, also where the session has ended on a page.
  wantedPage();
  location.assign(url);
}

/** Signs in by the identity provider's answer, which is the query of the page's address. */
export function SingleSignOn({ onSignedIn }) {
  const [problem, setProblem] = useState('');
  const [attempt, setAttempt] = useState('');
  const [begun] = useState(() => sessionStorage.getItem(KEPT));
  const [wanted] = useState(wantedPage);
  const enter = ({ account }) => {
    onSignedIn(account);
    navigate(wanted, { replace: true });
  };
  const finish = async () => {
    const query = location.search.slice(1);
    // An answer works once. Nobody finds it in the browser's history.
    sessionStorage.removeItem(KEPT);
    history.replaceState(null, '', location.pathname);
    if (!begun || !query) return setProblem('This tab has begun no sign-in.');
    try {
      const body = { attempt: begun, query, invitation: invitationOf(wanted) };
      const answer = await ask('POST /api/single-sign-on', { body });
      if ('account' in answer) enter(answer);
      else setAttempt(answer.attempt);
    } catch (error) {
      setProblem(error.message);
    }
  };
  useEffect(() => void finish(), []);
  if (attempt)
    return html`<${Welcome} title="Enter your code">
      <${SendForm} submit="Sign in" onDone=${enter}
        send=${sends('POST /api/single-sign-on/code', {}, ({ code }) => ({ attempt, code }))}>
        <${CodeField} hint="From your authenticator app, or one of your recovery codes." autofocus />
      <//>
    <//>`;
  return html`<${Welcome} title="Signing in">
    ${problem && html`<p class="notice bad" role="alert">${problem}</p><p class="other"><a href="/sign-in">Sign in</a></p>`}
  <//>`;
}
