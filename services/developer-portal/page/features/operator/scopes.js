import { ask } from '../../lib/api.js';
import { html, useState } from '../../lib/html.js';
import { useResource } from '../../lib/use-resource.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { focusPageHead, PageHead } from '../../ui/page-head.js';
import { Card, Empty, Loaded, Time } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';

/** Every request for the scope that waits for a decision. */
export function ScopeQueue() {
  const requests = useResource('/api/operator/scope-requests');
  const [rejecting, setRejecting] = useState(undefined);
  const [busy, setBusy] = useState(undefined);
  const approve = async ({ clientId, name }) => {
    if (busy !== undefined) return;
    setBusy(clientId);
    try {
      await ask('POST', `/api/operator/apps/${encodeURIComponent(clientId)}/approve`);
      toast(`${name} approved`);
      focusPageHead();
      requests.reload();
    } catch (error) {
      toast(error.message, 'bad');
    }
    setBusy(undefined);
  };
  return html`
    <${PageHead} title="Scope requests" aside=${html`<button type="button" onClick=${requests.reload}>Refresh</button>`} />
    <${Loaded} resource=${requests}>${(list) =>
      list.length === 0
        ? html`<${Empty} title="No open requests"><p>New requests for the token-gating scope appear here.</p><//>`
        : list.map(
            (one) => html`<${Card} key=${one.clientId} class="request">
          <h2 class="row-title break">${one.name}</h2>
          <p class="sub facts"><span class="break">${one.email}</span><span><code>${one.clientId}</code></span><span>asked <${Time} at=${one.requestedAt} /></span></p>
          <p class="notice quoted">${one.purpose}</p>
          <div class="actions">
            <button type="button" class="danger-quiet" aria-label=${`Reject ${one.name}`} onClick=${() => setRejecting(one)}>Reject…</button>
            <button type="button" class="primary" aria-label=${`Approve ${one.name}`} aria-disabled=${busy === one.clientId ? 'true' : undefined}
              onClick=${() => approve(one)}>Approve</button>
          </div>
        <//>`,
          )}<//>
    ${
      rejecting &&
      html`<${Reject} app=${rejecting} onClose=${() => setRejecting(undefined)} onDone=${() => {
        toast(`${rejecting.name} rejected`);
        setRejecting(undefined);
        focusPageHead();
        requests.reload();
      }} />`
    }
  `;
}

function Reject({ app, onClose, onDone }) {
  const form = useSubmit(
    (body) => ask('POST', `/api/operator/apps/${encodeURIComponent(app.clientId)}/reject`, { body }),
    onDone,
  );
  return html`<${Dialog} title=${`Reject “${app.name}”`} onClose=${onClose}>
    <${Form} form=${form} submit="Reject" tone="danger" onCancel=${onClose}>
      <${Field} label="Reason" as="textarea" name="reason" rows="4" required maxlength="500" autofocus
        hint="The developer reads this, and may ask again." fault=${form.faults['/reason']} />
    <//>
  <//>`;
}
