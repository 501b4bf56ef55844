import { SetUpTwoFactor } from './features/accounts/account.ts';
import { Frame } from './features/frame/frame.ts';
import { findPage } from './features/frame/routes.ts';
import {
  ForgottenPassword,
  ResetPassword,
  SignIn,
  SignInAgain,
  SingleSignOn,
} from './features/sessions/sign-in.ts';
import { forgetWantedPage } from './features/sessions/wanted-page.ts';
import { type Account, ask, onSessionLost } from './lib/api.ts';
import { html, render, useEffect, useErrorBoundary, useRef, useState } from './lib/html.ts';
import { followLinks, navigate, usePath } from './lib/router.ts';
import { keptKeys, Session, tellOtherTabs, watchOtherTabs } from './lib/session.ts';
import { OpenDialog } from './ui/form.ts';
import { Toasts } from './ui/toasts.ts';

const SIGN_IN_PATHS = ['/sign-in', '/sign-up'];

/** Draws the page for the signed-in account: `undefined` is not known yet, `null` is a visitor
 * without a session. When a session ends, the page stays, so that nothing typed is lost, and the
 * person signs in over it. */
function Portal() {
  const [account, setAccount] = useState<Account | null>();
  const [isLost, setIsLost] = useState(false);
  const [signIns, setSignIns] = useState(0);
  const [failure, setFailure] = useState<Error>();
  const [bug, forgetBug] = useErrorBoundary();
  const path = usePath();

  const current = useRef(account);
  current.current = account;
  const lost = useRef(isLost);
  lost.current = isLost;

  /** Draws the pages of the current user; after a change of user nothing of the former one stays. */
  const enter = (next: Account | null) => {
    if (current.current && current.current.accountId !== next?.accountId) keptKeys.clear();
    if (next) forgetWantedPage();
    setAccount(next);
    setIsLost(false);
    setFailure(undefined);
    setSignIns((last) => last + 1);
  };
  const reload = async () => {
    try {
      enter((await ask('GET /api/session')).account);
    } catch (error) {
      if (error.code !== 'session-missing') setFailure(error);
      else if (!current.current) setAccount(null);
    }
  };
  const recheck = async () => {
    if (current.current === undefined) return;
    const found = await ask('GET /api/session').catch(() => undefined);
    if (found && (lost.current || found.account.accountId !== current.current?.accountId))
      enter(found.account);
  };
  const signedIn = (found: Account) => {
    tellOtherTabs(found.accountId);
    enter(found);
  };
  const leave = () => {
    tellOtherTabs(null);
    enter(null);
    // An invitation stays, for the account that it is for.
    if (location.pathname !== '/invitation') navigate('/sign-in');
  };
  const onAccountChange = (accountId) => {
    if (accountId === null) enter(null);
    else void reload();
  };
  useEffect(() => {
    onSessionLost(() => setIsLost(Boolean(current.current)));
    watchOtherTabs(onAccountChange, recheck);
    void reload();
  }, []);

  if (bug) return html`<${Trouble} text="An error occurred in this page." again=${forgetBug} />`;
  if (failure) return html`<${Trouble} text=${failure.message} again=${reload} />`;
  if (path === '/reset-password') return html`<${ResetPassword} />`;
  if (path === '/forgotten-password') return html`<${ForgottenPassword} />`;
  if (path === '/single-sign-on') return html`<${SingleSignOn} onSignedIn=${signedIn} />`;
  if (account === undefined) return html`<main id="main" class="centred"><div class="skeleton"></div></main>`;
  if (account === null || SIGN_IN_PATHS.includes(path))
    return html`<${SignIn} isNew=${path === '/sign-up'} account=${account} onSignedIn=${signedIn} />`;
  const { page, parts } = account.mustSetUpTwoFactor
    ? { page: SetUpTwoFactor, parts: {} }
    : findPage(path, account);
  return html`<${Session.Provider} key=${account.accountId} value=${{ account, signIns, reload, leave }}>
    <${Frame} path=${path}><${page} key=${parts.id} ...${parts} /><//>
    <${OpenDialog} key=${path} />
    ${isLost && html`<${SignInAgain} account=${account} onSignedIn=${signedIn} onLeave=${leave} />`}
  <//>`;
}

const Trouble = ({ text, again }) => html`<main id="main" class="centred">
  <div class="notice bad" role="alert"><p>${text}</p><button type="button" onClick=${again}>Try again</button></div>
</main>`;

followLinks();
render(html`<${Portal} /><${Toasts} />`, document.getElementById('portal') as Element);
