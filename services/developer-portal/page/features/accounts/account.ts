import { type Answer, ask, sends } from '../../lib/api.ts';
import { formatDate, formatPlural } from '../../lib/format.ts';
import { html, useState } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { useSession } from '../../lib/session.ts';
import { Copyable } from '../../ui/copy.ts';
import {
  Checkbox,
  CodeField,
  Confirm,
  FormDialog,
  MakeSecrets,
  OwnPassword,
  openDialog,
  Password,
  SendForm,
} from '../../ui/form.ts';
import { Card, DangerZone, loaded, PageHead } from '../../ui/page.ts';
import { toast } from '../../ui/toasts.ts';
import { Badge, Facts, limitPairs, Time } from '../../ui/values.ts';
import { AuditList } from '../apps/audit-list.ts';

type OpenSession = Answer<'GET /api/sessions'>[number];

export function Account() {
  const { account, leave, reload } = useSession();
  const audit = useResource('GET /api/audit', {});
  const destroy = () =>
    openDialog(html`<${FormDialog} said="Account deleted" after=${leave} title="Delete your account?" submit="Delete account" tone="danger" send=${sends('POST /api/account/delete', {})}>
        <p class="prose">This cannot be undone.</p><${OwnPassword} autofocus />
      <//>`);
  return html`
    <${PageHead} title="Account"><p class="sub break">${account.email}</p><//>
    <div class="two">
      <${Card} title="Tier"><${Facts} pairs=${[
        ['Tier', html`<span class="capital">${account.tier}</span>`],
        ...limitPairs(account.limits),
      ]} /><//>
      ${account.hasPassword && html`<${ChangePassword} />`}
    </div>
    <${TwoFactor} />
    <${Sessions} />
    ${account.notices !== undefined && html`<${Notices} isOn=${account.notices} reload=${reload} />`}
    <${Card} title="Activity">${loaded(audit, (entries) => html`<${AuditList} entries=${entries} />`)}<//>
    <${DangerZone} title="Delete this account" action="Delete account…" onClick=${destroy}>
      All its apps are deleted with it, and their keys stop working at once.
    <//>
  `;
}

function ChangePassword() {
  const [round, setRound] = useState(0);
  const done = () => {
    setRound(round + 1);
    toast('Password changed. Other sessions have ended.');
  };
  return html`<${Card} title="Password">
    <${SendForm} submit="Change password" key=${round} onDone=${done}
      send=${sends('POST /api/account/password', {})}>
      <${Password} label="Current password" name="current" /><${Password} label="New password" name="next" isNew />
    <//>
  <//>`;
}

function Notices({ isOn, reload }) {
  const change = async (event) => {
    await ask('PUT /api/account/notices', { body: { enabled: event.target.checked } }).catch((error) =>
      toast(error.message, 'bad'),
    );
    await reload();
  };
  return html`<${Card} title="E-mail">
    <${Checkbox} name="notices" label="Tell me what needs me" checked=${isOn} onChange=${change}
      hint="Webhooks that are not accepted, keys that expire soon, watches that are held or see no changes, decisions about a scope. At most one message a day for each." />
  <//>`;
}

function Sessions() {
  const sessions = useResource('GET /api/sessions', {});
  const others = sessions.value?.filter(({ current }) => !current).length ?? 0;
  const endOthers = () =>
    openDialog(html`<${Confirm} after=${sessions.reload} title="End all other sessions?" action="End sessions"
        said="Other sessions ended" send=${sends('POST /api/sessions/end-others', {})}>
        <p>${formatPlural(others, 'session')} must sign in again. Change your password as well if somebody else may know it.</p>
      <//>`);
  const end = ({ sessionId, browser, address }: OpenSession) =>
    openDialog(html`<${Confirm} after=${sessions.reload} title="End this session?" action="End session"
        said="Session ended" send=${() => ask('DELETE /api/sessions/:sessionId', { params: { sessionId } }).catch(passEnded)}>
        <p>${browser} at ${address} must sign in again.</p>
      <//>`);
  const drawSession = (session: OpenSession) => {
    const { sessionId, browser, address, startedAt, usedAt, current } = session;
    const button = html`<button type="button" class="danger-quiet" aria-label=${`End the session of ${browser} at ${address}`}
      onClick=${() => end(session)}>End</button>`;
    return html`<li key=${sessionId}>
      <div class="grow">
        <p class="row-title break">${browser} ${current && html`<${Badge} tone="good">This session<//>`}</p>
        <p class="sub break">${address}</p>
      </div>
      <p class="sub facts"><span>Used <${Time} at=${usedAt} /></span><span>Began <${Time} at=${startedAt} /></span></p>
      ${!current && html`<div class="row-actions">${button}</div>`}
    </li>`;
  };
  return html`<${Card} title="Sessions" aside=${
    others > 0 &&
    html`<button type="button" class="danger-quiet" onClick=${endOthers}>End all others</button>`
  }>
    ${loaded(sessions, (list) => html`<ul class="rows">${list.map(drawSession)}</ul>`)}
  <//>`;
}

/** A session that ended meanwhile is ended. */
const passEnded = (error) => {
  if (error.code !== 'not-found') throw error;
};

/** From this count on the page asks for new recovery codes. */
const FEW_CODES = 3;
const ENDED = 'Other sessions have ended.';

export function TwoFactor() {
  const { account, reload } = useSession();
  const { twoFactor } = account;
  const renew = () =>
    openDialog(html`<${MakeSecrets} after=${reload} title="Make new recovery codes?" submit="Make codes"
        send=${sends('POST /api/account/two-factor/recovery-codes', {})} show=${showCodes}
        said="Earlier recovery codes no longer work">
        <p class="prose">Your current codes stop working.</p><${OwnPassword} /><${CodeField} />
      <//>`);
  const turnOff = () =>
    openDialog(html`<${FormDialog} after=${reload} title="Turn off two-factor authentication?" submit="Turn off" tone="danger"
        send=${sends('POST /api/account/two-factor/disable', {})}
        said=${`Two-factor authentication is off. ${ENDED}`}>
        <p class="prose">After that, one factor alone is enough to sign in.</p><${OwnPassword} /><${CodeField} />
      <//>`);
  return html`<${Card} title="Two-factor authentication" aside=${html`<${Badge} tone=${twoFactor ? 'good' : 'quiet'}>${twoFactor ? 'On' : 'Off'}<//>`}>
    ${
      twoFactor
        ? html`<p class="prose">Since ${formatDate(twoFactor.enabledAt)}, signing in requires a code from your authenticator app.</p>
          <p class=${twoFactor.recoveryCodesLeft <= FEW_CODES ? 'notice warn' : 'sub'}>${formatPlural(twoFactor.recoveryCodesLeft, 'recovery code')} left.</p>
          <div class="actions"><button type="button" onClick=${renew}>New recovery codes…</button>
            <button type="button" class="danger-quiet" onClick=${turnOff}>Turn off…</button></div>`
        : html`<p class="prose">With an authenticator app a stolen password is not enough to sign in.</p>
          <div class="actions"><button type="button" class="primary" onClick=${() => openDialog(html`<${TurnOn} after=${reload} />`)}>Turn on…</button></div>`
    }
  <//>`;
}

/** Shown instead of every page to an operator who may do nothing before it is set up. */
export const SetUpTwoFactor = () => html`
  <${PageHead} title="Set up two-factor authentication" />
  <p class="notice warn">On this portal operators need a second factor. Turn it on to go on.</p>
  <${TwoFactor} />
`;

const showCodes = ({ recoveryCodes }: Answer<'POST /api/account/two-factor'>) => ({
  title: 'Your recovery codes',
  intro: html`<p class="prose codes-note">Each code works once, to sign in without your authenticator app.</p>`,
  secrets: [['Recovery codes', recoveryCodes.join('\n')]],
});

/** Asks for the password, shows the secret and asks for a first code, then shows the recovery
 * codes. */
function TurnOn({ after }) {
  const [setup, setSetup] = useState<Answer<'POST /api/account/two-factor/begin'>>();
  if (setup)
    return html`<${MakeSecrets} after=${after} title="Scan this code" submit="Turn on" show=${showCodes}
      send=${sends('POST /api/account/two-factor', {})} said=${`Two-factor authentication is on. ${ENDED}`}>
      <p class="prose">Scan it with your authenticator app, then enter the code that the app shows.</p>
      <img class="qr" src=${`data:image/svg+xml,${encodeURIComponent(setup.qr)}`} alt="QR code of the secret below" />
      <${Copyable} label="Or enter this secret" value=${setup.secret} />
      <${CodeField} label="Code of the app" inputmode="numeric" autofocus />
    <//>`;
  return html`<${FormDialog} title="Turn on two-factor authentication" submit="Continue"
    send=${sends('POST /api/account/two-factor/begin', {})} onDone=${setSetup}>
    <p class="prose">You need an app for time-based codes on your phone or in your password manager.</p>
    <${OwnPassword} />
  <//>`;
}
