import { ask } from '../core/api.js';
import { html, useState } from '../core/html.js';
import { useResource } from '../core/use-resource.js';
import { useSubmit } from '../core/use-submit.js';
import { Dialog } from '../parts/dialog.js';
import { Field } from '../parts/field.js';
import { Form } from '../parts/form.js';
import { focusPageHead, PageHead } from '../parts/page-head.js';
import { Card, Empty, Loaded, Time } from '../parts/states.js';
import { toast } from '../parts/toasts.js';

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
