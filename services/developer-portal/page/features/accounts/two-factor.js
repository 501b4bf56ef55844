import { ask } from '../../lib/api.js';
import { formatDate, formatPlural } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useSession } from '../../lib/session.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Copyable } from '../../ui/copy.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { SecretsShown } from '../../ui/secrets-shown.js';
import { Badge, Card } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';
import { CodeField } from '../sessions/code-field.js';

const API = '/api/account/two-factor';
/** From this count on the page asks for new recovery codes. */
const FEW_CODES = 3;

/** The second factor of the account: turned on with an authenticator app, renewed, turned off. */
export function TwoFactor() {
  const { account, reload } = useSession();
  const [open, setOpen] = useState(undefined);
  const { twoFactor } = account;
  const close = () => setOpen(undefined);
  const done = (text) => {
    close();
    toast(text);
    void reload();
  };
  return html`<${Card} title="Two-factor authentication" aside=${html`<${Badge} tone=${twoFactor ? 'good' : 'quiet'}>${twoFactor ? 'On' : 'Off'}<//>`}>
    ${
      twoFactor
        ? html`<p class="prose">Since ${formatDate(twoFactor.enabledAt)}, signing in requires a code from your authenticator app.</p>
          <p class=${twoFactor.recoveryCodesLeft <= FEW_CODES ? 'notice warn' : 'sub'}>${formatPlural(twoFactor.recoveryCodesLeft, 'recovery code')} left.</p>
          <div class="actions"><button type="button" onClick=${() => setOpen('renew')}>New recovery codes…</button>
            <button type="button" class="danger-quiet" onClick=${() => setOpen('off')}>Turn off…</button></div>`
        : html`<p class="prose">With an authenticator app a stolen password is not enough to sign in.</p>
          <div class="actions"><button type="button" class="primary" onClick=${() => setOpen('on')}>Turn on…</button></div>`
    }
    ${open === 'on' && html`<${TurnOn} onClose=${close} onDone=${() => done('Two-factor authentication is on. Other sessions have ended.')} />`}
    ${open === 'renew' && html`<${Renew} onClose=${close} onDone=${() => done('Earlier recovery codes no longer work')} />`}
    ${open === 'off' && html`<${TurnOff} onClose=${close} onDone=${() => done('Two-factor authentication is off. Other sessions have ended.')} />`}
  <//>`;
}

const Password = ({
  fault,
}) => html`<${Field} label="Password" name="password" type="password" required maxlength="128"
  autocomplete="current-password" fault=${fault} />`;

/** Asks for the password, shows the secret and asks for a first code, then shows the recovery codes. */
function TurnOn({ onClose, onDone }) {
  const [setup, setSetup] = useState(undefined);
  const [codes, setCodes] = useState(undefined);
  const begin = useSubmit(({ password }) => ask('POST', `${API}/begin`, { body: { password } }), setSetup);
  const enable = useSubmit(
    (body) => ask('POST', API, { body }),
    ({ recoveryCodes }) => setCodes(recoveryCodes),
  );
  if (codes) return html`<${RecoveryCodes} codes=${codes} onDone=${onDone} />`;
  if (setup)
    return html`<${Dialog} key="scan" title="Scan this code" onClose=${onClose}>
      <${Form} form=${enable} submit="Turn on" onCancel=${onClose}>
        <p class="prose">Scan it with your authenticator app, then enter the code that the app shows.</p>
        <${QrCode} ...${setup.qr} />
        <${Copyable} label="Or enter this secret" value=${setup.secret} />
        <${CodeField} label="Code of the app" fault=${enable.faults['/code']} inputmode="numeric" autofocus />
      <//>
    <//>`;
  return html`<${Dialog} key="ask" title="Turn on two-factor authentication" onClose=${onClose}>
    <${Form} form=${begin} submit="Continue" onCancel=${onClose}>
      <p class="prose">You need an app for time-based codes on your phone or in your password manager.</p>
      <${Password} fault=${begin.faults['/password']} />
    <//>
  <//>`;
}

/** Dark on white in every theme: that is how cameras read it. */
const QrCode = ({
  size,
  path,
}) => html`<svg class="qr" viewBox=${`0 0 ${size} ${size}`} role="img" aria-label="QR code of the secret below">
  <rect width=${size} height=${size} fill="#fff" /><path d=${path} fill="#000" shape-rendering="crispEdges" />
</svg>`;

const RecoveryCodes = ({ codes, onDone }) => html`<${Dialog} key="codes" title="Your recovery codes">
  <p class="prose codes-note">Each code works once, to sign in without your authenticator app.</p>
  <${SecretsShown} secrets=${[['Recovery codes', codes.join('\n')]]} onDone=${onDone} />
<//>`;

function Renew({ onClose, onDone }) {
  const [codes, setCodes] = useState(undefined);
  const form = useSubmit(
    (body) => ask('POST', `${API}/recovery-codes`, { body }),
    ({ recoveryCodes }) => setCodes(recoveryCodes),
  );
  if (codes) return html`<${RecoveryCodes} codes=${codes} onDone=${onDone} />`;
  return html`<${Dialog} key="ask" title="Make new recovery codes?" onClose=${onClose}>
    <${Form} form=${form} submit="Make codes" onCancel=${onClose}>
      <p class="prose">Your current codes stop working.</p>
      <${Password} fault=${form.faults['/password']} /><${CodeField} fault=${form.faults['/code']} />
    <//>
  <//>`;
}

function TurnOff({ onClose, onDone }) {
  const form = useSubmit((body) => ask('POST', `${API}/disable`, { body }), onDone);
  return html`<${Dialog} title="Turn off two-factor authentication?" onClose=${onClose}>
    <${Form} form=${form} submit="Turn off" tone="danger" onCancel=${onClose}>
      <p class="prose">After that, the password alone is enough to sign in.</p>
      <${Password} fault=${form.faults['/password']} /><${CodeField} fault=${form.faults['/code']} />
    <//>
  <//>`;
}
