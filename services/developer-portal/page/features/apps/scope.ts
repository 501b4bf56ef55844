import { sends } from '../../lib/api.ts';
import { html, useState } from '../../lib/html.ts';
import { useApp } from '../../lib/session.ts';
import { Field, SendForm } from '../../ui/form.ts';
import { Card, focusPageHead, PageHead } from '../../ui/page.ts';
import { toast } from '../../ui/toasts.ts';
import { StateBadge } from '../../ui/values.ts';

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

export function Scope() {
  const { app, clientId, reload, may } = useApp();
  const { state, purpose } = app.scope;
  const [isAsking, setIsAsking] = useState(false);
  const hasAsked = state === 'approved' || (state === 'requested' && purpose);
  const done = () => {
    toast('Scope requested');
    focusPageHead();
    setIsAsking(false);
    reload();
  };
  const form = html`<${Card} title="Request the scope">
    <${SendForm} submit="Request scope" send=${sends('POST /api/apps/:clientId/scope', { clientId })} onDone=${done}>
      <${Field} label="Purpose" as="textarea" name="purpose" rows="5" required maxlength="1000" defaultValue=${purpose}
        hint="Which users you gate by which tokens, and about how many checks you make per month." />
    <//>
  <//>`;
  return html`
    <${PageHead} title="Scope" />
    <${Card}>
      <p class="row-title"><code>token-gating</code> <${StateBadge} of="scope" state=${state} /></p>
      <p class="prose">${WORDS[state]}</p>
      <${ScopeTexts} ...${app.scope} />
      ${state === 'requested' && purpose && !isAsking && may('requestScope') && html`<button type="button" onClick=${() => setIsAsking(true)}>Change the purpose</button>`}
    <//>
    ${(isAsking || !hasAsked) && may('requestScope') && form}
  `;
}
