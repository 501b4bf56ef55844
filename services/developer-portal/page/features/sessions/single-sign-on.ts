import { ask, sends } from '../../lib/api.ts';
import { html, useEffect, useState } from '../../lib/html.ts';
import { navigate } from '../../lib/router.ts';
import { CodeField, SendButton, SendForm } from '../../ui/form.ts';
import { Welcome } from '../frame/frame.ts';
import { wantedPath } from './return-path.ts';

/** The attempt that this tab began: what the provider's answer must fit, encrypted, and the page to
 * show afterwards. */
const KEPT = 'single-sign-on';

/** Sends the browser to the identity provider, which sends it back to `/single-sign-on`. */
export const SingleSignOnButton = () =>
  html`<${SendButton} send=${begin}>Sign in at your identity provider<//>`;

async function begin() {
  const { url, attempt } = await ask('POST /api/single-sign-on/begin');
  sessionStorage.setItem(KEPT, JSON.stringify({ attempt, wanted: wantedPath(location) }));
  location.assign(url);
}

/** Signs in by the identity provider's answer, which is the query of the page's address. */
export function SingleSignOn({ onSignedIn }) {
  const [problem, setProblem] = useState('');
  const [attempt, setAttempt] = useState('');
  const [kept] = useState(() => JSON.parse(sessionStorage.getItem(KEPT) ?? '{}'));
  const enter = ({ account }) => {
    onSignedIn(account);
    navigate(kept.wanted, { replace: true });
  };
  const finish = async () => {
    const query = location.search.slice(1);
    // An answer works once. Nobody finds it in the browser's history.
    sessionStorage.removeItem(KEPT);
    history.replaceState(null, '', location.pathname);
    if (!kept.attempt || !query) return setProblem('This tab has begun no sign-in.');
    const [, invitation] = /^\/invitation#(.+)$/.exec(kept.wanted) ?? [];
    try {
      const body = { attempt: kept.attempt, query, ...(invitation && { invitation }) };
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
