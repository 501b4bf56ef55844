import { ask } from '../../lib/api.js';
import { html } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { useMayChange } from '../../lib/session.js';
import { useAction } from '../../lib/submit.js';
import { Field, FormDialog, useDialog } from '../../ui/form.js';
import { Card, Empty, focusPageHead, loaded, PageHead, refreshButton } from '../../ui/page.js';
import { toast } from '../../ui/toasts.js';
import { Time } from '../../ui/values.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @typedef {Answer<'GET /api/operator/scope-requests'>[number]} ScopeRequest */

/** Every request for the scope that waits for a decision. */
export function ScopeQueue() {
  const requests = useResource('GET /api/operator/scope-requests', {});
  const mayChange = useMayChange();
  const decided = () => {
    focusPageHead();
    requests.reload();
  };
  const [dialog, open] = useDialog(decided);
  const [approve, busy] = useAction(
    (_, /** @type {ScopeRequest} */ { clientId }) =>
      ask('POST /api/operator/apps/:clientId/approve', { params: { clientId } }),
    ({ name }) => {
      toast(`${name} approved`);
      decided();
    },
  );
  /** @param {ScopeRequest} request */
  const reject = ({ clientId, name }) =>
    open(html`<${FormDialog} title=${`Reject “${name}”`} submit="Reject" tone="danger"
        send=${(body) => ask('POST /api/operator/apps/:clientId/reject', { params: { clientId }, body })} said=${`${name} rejected`}>
        <${Field} label="Reason" as="textarea" name="reason" rows="4" required maxlength="500" autofocus
          hint="The developer reads this, and may ask again." />
      <//>`);
  return html`
    <${PageHead} title="Scope requests" aside=${refreshButton(requests)} />
    ${loaded(requests, (list) =>
      list.length === 0
        ? html`<${Empty} title="No open requests"><p>New requests for the token-gating scope appear here.</p><//>`
        : list.map(
            (one) => html`<${Card} key=${one.clientId} class="request">
          <h2 class="row-title break">${one.name}</h2>
          <p class="sub facts"><span class="break">${one.email}</span><span><code>${one.clientId}</code></span><span>asked <${Time} at=${one.requestedAt} /></span></p>
          <p class="notice quoted">${one.purpose}</p>
          ${
            mayChange &&
            html`<div class="actions">
            <button type="button" class="danger-quiet" aria-label=${`Reject ${one.name}`} onClick=${() => reject(one)}>Reject…</button>
            <button type="button" class="primary" aria-label=${`Approve ${one.name}`} aria-disabled=${busy === one ? 'true' : undefined}
              onClick=${() => approve(one)}>Approve</button>
          </div>`
          }
        <//>`,
          ),
    )}
    ${dialog}
  `;
}
