import { ask } from '../../lib/api.js';
import { html, useState } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { focusPageHead, PageHead } from '../../ui/page-head.js';
import { Card, ScopeBadge } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';

const WORDS = {
  none: 'Checks need the token-gating scope. Say what you are building, and an operator will decide.',
  requested: 'Your request is with the operators. Until they have decided, checks are answered with 403.',
  approved: 'This app may make checks.',
  rejected: 'An operator has rejected the request. You may change your purpose and ask again.',
};

/** The developer's purpose, and why an operator rejected it. */
export const ScopeTexts = ({ purpose, reason }) => html`
  ${reason && html`<p class="notice bad quoted"><strong>Reason</strong>${reason}</p>`}
  ${purpose && html`<p class="notice quoted"><strong>Purpose</strong>${purpose}</p>`}
`;

/** The state of the app's scope, and the form that requests it. */
export function Scope() {
  const { app, may } = useApp();
  const { state, purpose, reason } = app.scope;
  const [isAsking, setIsAsking] = useState(false);
  const isOpen = state === 'none' || state === 'rejected' || (state === 'requested' && !purpose);
  return html`
    <${PageHead} title="Scope" />
    <${Card}>
      <p class="row-title"><code>token-gating</code> <${ScopeBadge} state=${state} /></p>
      <p class="prose">${WORDS[state]}</p>
      <${ScopeTexts} purpose=${purpose} reason=${reason} />
      ${state === 'requested' && purpose && !isAsking && may('requestScope') && html`<button type="button" onClick=${() => setIsAsking(true)}>Change the purpose</button>`}
    <//>
    ${(isOpen || isAsking) && may('requestScope') && html`<${RequestScope} purpose=${purpose} onDone=${() => setIsAsking(false)} />`}
  `;
}

function RequestScope({ purpose, onDone }) {
  const { api, reload } = useApp();
  const form = useSubmit(
    (body, idempotencyKey) => ask('POST', `${api}/scope`, { body, idempotencyKey }),
    () => {
      toast('Scope requested');
      focusPageHead();
      onDone();
      reload();
    },
  );
  return html`<${Card} title="Request the scope">
    <${Form} form=${form} submit="Request scope">
      <${Field} label="Purpose" as="textarea" name="purpose" rows="5" required maxlength="1000" defaultValue=${purpose}
        hint="Which users you gate by which tokens, and about how many checks you make per month." fault=${form.faults['/purpose']} />
    <//>
  <//>`;
}
