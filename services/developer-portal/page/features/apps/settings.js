import { ask } from '../../lib/api.js';
import { formatCount } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { navigate } from '../../lib/router.js';
import { useApp, useSession } from '../../lib/session.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Confirm } from '../../ui/confirm.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { PageHead } from '../../ui/page-head.js';
import { Card } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';

/** The address for alerts about the app's quota. */
function QuotaAlerts() {
  const { app, may } = useApp();
  return html`<${Card} title="Quota alerts">
    <p class="prose">A signed webhook, <code>quota.threshold</code>, is sent once a month when 80 % of the quota is used, and once at 100 %.</p>
    ${may('setAlerts') ? html`<${AlertForm} />` : html`<p class="mono break">${app.alertUrl ?? 'No alerts'}</p>`}
  <//>`;
}

function AlertForm() {
  const { app, api, reload } = useApp();
  const send = ({ callbackUrl }) =>
    ask('PUT', `${api}/alerts`, {
      body: { callbackUrl: callbackUrl.trim() === '' ? null : callbackUrl.trim() },
    });
  const form = useSubmit(send, ({ alertUrl }) => {
    toast(alertUrl === undefined ? 'Alerts are off' : 'Alerts are on');
    reload();
  });
  return html`<${Form} form=${form} submit="Save alerts" label="Quota alerts">
    <${Field} label="Alert URL" name="callbackUrl" class="mono-input" maxlength="2048" placeholder="https://example.com/hooks"
      defaultValue=${app.alertUrl ?? ''} fault=${form.faults['/callbackUrl']} hint="Empty: no alerts." />
  <//>`;
}

function RenameForm() {
  const { app, api, reload } = useApp();
  const form = useSubmit(
    (body) => ask('PATCH', api, { body }),
    () => {
      toast('App renamed');
      reload();
    },
  );
  return html`<${Form} form=${form} submit="Rename">
    <${Field} label="Name" name="name" required maxlength="64" defaultValue=${app.name} fault=${form.faults['/name']} />
  <//>`;
}

/** Name, limits, and the end of the app. */
export function Settings() {
  const { app, api, may } = useApp();
  const { account } = useSession();
  const [isDeleting, setIsDeleting] = useState(false);
  const { requestsPerSecond, requestsPerMonth } = app.limits;
  return html`
    <${PageHead} title="Settings" />
    <${Card} title="Name">${may('renameApp') ? html`<${RenameForm} />` : html`<p class="break">${app.name}</p>`}<//>
    <${QuotaAlerts} />
    <${Card} title="Limits"><dl class="facts-list">
      ${app.role === 'owner' && html`<div><dt>Tier</dt><dd class="capital">${account.tier}</dd></div>`}
      <div><dt>Requests per second</dt><dd>${formatCount(requestsPerSecond)}</dd></div>
      <div><dt>Checks per month</dt><dd>${formatCount(requestsPerMonth)}</dd></div>
    </dl><//>
    ${
      may('deleteApp') &&
      html`<${Card} title="Delete this app" class="danger-zone">
        <p class="prose">Its keys stop working at once. Webhooks of accepted checks are sent for two more days. This cannot be undone.</p>
        <button type="button" class="danger" onClick=${() => setIsDeleting(true)}>Delete app…</button>
      <//>`
    }
    ${
      isDeleting &&
      html`<${Confirm} title="Delete this app?" action="Delete app" typed=${app.name}
        send=${() => ask('DELETE', api)} onClose=${() => setIsDeleting(false)}
        onDone=${() => {
          toast('App deleted');
          navigate('/apps');
        }}><p>All keys of <strong class="break">${app.name}</strong> stop working within a second.</p><//>`
    }
  `;
}
