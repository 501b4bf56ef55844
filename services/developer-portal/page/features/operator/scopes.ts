import { type Answer, sends } from '../../lib/api.ts';
import { html } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { useMayChange } from '../../lib/session.ts';
import { Field, FormDialog, SendButton, useDialog } from '../../ui/form.ts';
import { Card, Empty, focusPageHead, loaded, PageHead, refreshButton } from '../../ui/page.ts';
import { Time } from '../../ui/values.ts';

type ScopeRequest = Answer<'GET /api/operator/scope-requests'>[number];

export function ScopeQueue() {
  const requests = useResource('GET /api/operator/scope-requests', {});
  const mayChange = useMayChange();
  const decided = () => {
    focusPageHead();
    requests.reload();
  };
  const [dialog, open] = useDialog(decided);
  const reject = ({ clientId, name }: ScopeRequest) =>
    open(html`<${FormDialog} title=${`Reject “${name}”`} submit="Reject" tone="danger"
        send=${sends('POST /api/operator/apps/:clientId/reject', { clientId })} said=${`${name} rejected`}>
        <${Field} label="Reason" as="textarea" name="reason" rows="4" required maxlength="500" autofocus
          hint="The developer reads this, and may ask again." />
      <//>`);
  return html`
    <${PageHead} title="Scope requests" aside=${refreshButton(requests)} />
    ${loaded(requests, (list) =>
      list.length === 0
        ? html`<${Empty} title="No open requests"><p>New requests for the token-gating scope appear here.</p><//>`
        : list.map((one) => {
            const { clientId, name, email, requestedAt, purpose } = one;
            const actions = html`<div class="actions">
              <button type="button" class="danger-quiet" aria-label=${`Reject ${name}`} onClick=${() => reject(one)}>Reject…</button>
              <${SendButton} class="primary" aria-label=${`Approve ${name}`} said=${`${name} approved`} onDone=${decided}
                send=${sends('POST /api/operator/apps/:clientId/approve', { clientId })}>Approve<//>
            </div>`;
            return html`<${Card} key=${clientId} class="request">
              <h2 class="row-title break">${name}</h2>
              <p class="sub facts"><span class="break">${email}</span><span><code>${clientId}</code></span><span>asked <${Time} at=${requestedAt} /></span></p>
              <p class="notice quoted">${purpose}</p>
              ${mayChange && actions}
            <//>`;
          }),
    )}
    ${dialog}
  `;
}
