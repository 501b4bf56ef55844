import { ask, onSessionLost } from './core/api.js';
import { html, render, useEffect, useErrorBoundary, useState } from './core/html.js';
import { forgetKeys } from './core/kept-keys.js';
import { followLinks, navigate, usePath } from './core/router.js';
import { Session } from './core/session.js';
import { Frame } from './pages/frame.js';
import { findPage } from './pages/routes.js';
import { SignIn } from './pages/sign-in.js';
import { Toasts, toast } from './parts/toasts.js';

const SIGN_IN_PATHS = ['/sign-in', '/sign-up'];

/** Who is signed in decides what is drawn: `undefined` is not known yet, `null` nobody. */
function Portal() {
  const [account, setAccount] = useState(undefined);
  const [failure, setFailure] = useState(undefined);
  const [bug, forgetBug] = useErrorBoundary();
  const path = usePath();

  const reload = async () => {
    try {
      setAccount((await ask('GET', '/api/session')).account);
      setFailure(undefined);
    } catch (error) {
      if (error.code === 'session-missing') setAccount(null);
      else setFailure(error);
    }
  };
  const leave = () => {
    forgetKeys();
    setAccount(null);
    navigate('/sign-in');
  };
  useEffect(() => void reload(), []);
  useEffect(
    () =>
      onSessionLost(() =>
        setAccount((before) => {
          if (before) toast('Your session has ended. Please sign in again.', 'bad');
          return null;
        }),
      ),
    [],
  );

  if (bug) return html`<${Trouble} text="The page met a bug." again=${forgetBug} />`;
  if (failure) return html`<${Trouble} text=${failure.message} again=${reload} />`;
  if (account === undefined) return html`<main id="main" class="centred"><div class="skeleton"></div></main>`;
  if (account === null || SIGN_IN_PATHS.includes(path))
    return html`<${SignIn} isNew=${path === '/sign-up'} account=${account} onSignedIn=${setAccount} />`;
  const [Page, parts] = findPage(path);
  return html`<${Session.Provider} value=${{ account, reload, leave }}>
    <${Frame} path=${path}><${Page} key=${parts.id} ...${parts} /><//>
  <//>`;
}

const Trouble = ({ text, again }) => html`<main id="main" class="centred">
  <div class="notice bad" role="alert"><p>${text}</p><button type="button" onClick=${again}>Try again</button></div>
</main>`;

followLinks();
render(html`<${Portal} /><${Toasts} />`, document.getElementById('portal'));
