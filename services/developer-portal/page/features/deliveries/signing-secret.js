import { ask } from '../../lib/api.js';
import { formatDate } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Dialog } from '../../ui/dialog.js';
import { Form } from '../../ui/form.js';
import { SecretsShown } from '../../ui/secrets-shown.js';
import { Badge, Card, Time } from '../../ui/states.js';
import { Overlap } from '../apps/overlap.js';

/** The secrets that sign now, and how to replace them. */
export function SigningSecret() {
  const { app, base, reload, may } = useApp();
  const [isRotating, setIsRotating] = useState(false);
  const done = () => {
    setIsRotating(false);
    reload();
  };
  return html`<${Card} title="Signing secret"
    aside=${may('rotateSecret') && html`<button type="button" onClick=${() => setIsRotating(true)}>Rotate…</button>`}>
    <ul class="rows inner">${app.secrets.map(
      ({ createdAt, expiresAt }) => html`<li key=${createdAt}>
        <div class="grow"><code>whsec_••••••••</code> ${expiresAt ? html`<${Badge} tone="warn">Ends <${Time} at=${expiresAt} /><//>` : html`<${Badge} tone="good">Current<//>`}</div>
        <p class="sub facts">Since ${formatDate(createdAt)}</p>
      </li>`,
    )}</ul>
    <p class="hint">Each message is signed with every secret that is listed. <a href=${`${base}/snippets`}>How to verify</a></p>
    ${isRotating && html`<${Rotate} onClose=${() => setIsRotating(false)} onDone=${done} />`}
  <//>`;
}

function Rotate({ onClose, onDone }) {
  const { api } = useApp();
  const [made, setMade] = useState(undefined);
  const send = ({ overlapHours }, idempotencyKey) =>
    ask('POST', `${api}/secret/rotate`, { body: { overlapHours: Number(overlapHours) }, idempotencyKey });
  const form = useSubmit(send, setMade);
  if (made)
    return html`<${Dialog} key="made" title="Your new signing secret">
      <${SecretsShown} secrets=${[['Webhook secret', made.webhookSecret]]} onDone=${onDone} />
    <//>`;
  return html`<${Dialog} key="ask" title="Rotate the signing secret" onClose=${onClose}>
    <${Form} form=${form} submit="Rotate secret" onCancel=${onClose}>
      <p class="prose">During the overlap every message carries two signatures, so that a receiver with either secret
        verifies it.</p>
      <${Overlap} label="The old secret stops signing" fault=${form.faults['/overlapHours']} />
    <//>
  <//>`;
}
