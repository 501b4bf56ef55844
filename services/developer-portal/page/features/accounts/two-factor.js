import { ask } from '../../lib/api.js';
import { formatDate, formatPlural } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useSession } from '../../lib/session.js';
import { Copyable } from '../../ui/copy.js';
import { CodeField, FormDialog, MakeSecrets, useDialog } from '../../ui/form.js';
import { Card, PageHead } from '../../ui/page.js';
import { Badge } from '../../ui/values.js';
import { OwnPassword } from './own-password.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @typedef {Answer<'POST /api/account/two-factor/begin'>} Setup */
/** @typedef {Answer<'POST /api/account/two-factor'>} Codes */

/** From this count on the page asks for new recovery codes. */
const FEW_CODES = 3;
const ENDED = 'Other sessions have ended.';

/** The second factor of the account: turned on with an authenticator app, renewed, turned off. */
export function TwoFactor() {
  const { account, reload } = useSession();
  const { twoFactor } = account;
  const [dialog, open] = useDialog(() => void reload());
  const renew = () =>
    open(html`<${MakeSecrets} title="Make new recovery codes?" submit="Make codes"
        send=${(body) => ask('POST /api/account/two-factor/recovery-codes', { body })} show=${showCodes}
        said="Earlier recovery codes no longer work">
        <p class="prose">Your current codes stop working.</p><${OwnPassword} /><${CodeField} />
      <//>`);
  const turnOff = () =>
    open(html`<${FormDialog} title="Turn off two-factor authentication?" submit="Turn off" tone="danger"
        send=${(body) => ask('POST /api/account/two-factor/disable', { body })}
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
          <div class="actions"><button type="button" class="primary" onClick=${() => open(html`<${TurnOn} />`)}>Turn on…</button></div>`
    }
    ${dialog}
  <//>`;
}

/** Shown instead of every page to an operator who may do nothing before it is set up. */
export const SetUpTwoFactor = () => html`
  <${PageHead} title="Set up two-factor authentication" />
  <p class="notice warn">On this portal operators need a second factor. Turn it on to go on.</p>
  <${TwoFactor} />
`;

/** @param {Codes} made */
const showCodes = ({ recoveryCodes }) => ({
  title: 'Your recovery codes',
  intro: html`<p class="prose codes-note">Each code works once, to sign in without your authenticator app.</p>`,
  secrets: [['Recovery codes', recoveryCodes.join('\n')]],
});

/** Asks for the password, shows the secret and asks for a first code, then shows the recovery
 * codes. */
function TurnOn() {
  const [setup, setSetup] = useState(/** @type {Setup | undefined} */ (undefined));
  if (setup)
    return html`<${MakeSecrets} title="Scan this code" submit="Turn on" show=${showCodes}
      send=${(body) => ask('POST /api/account/two-factor', { body })} said=${`Two-factor authentication is on. ${ENDED}`}>
      <p class="prose">Scan it with your authenticator app, then enter the code that the app shows.</p>
      <img class="qr" src=${`data:image/svg+xml,${encodeURIComponent(setup.qr)}`} alt="QR code of the secret below" />
      <${Copyable} label="Or enter this secret" value=${setup.secret} />
      <${CodeField} label="Code of the app" inputmode="numeric" autofocus />
    <//>`;
  return html`<${FormDialog} title="Turn on two-factor authentication" submit="Continue"
    send=${(body) => ask('POST /api/account/two-factor/begin', { body })} onDone=${setSetup}>
    <p class="prose">You need an app for time-based codes on your phone or in your password manager.</p>
    <${OwnPassword} />
  <//>`;
}
