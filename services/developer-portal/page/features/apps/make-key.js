import { ask } from '../../lib/api.js';
import { html, useState } from '../../lib/html.js';
import { keepKey } from '../../lib/kept-keys.js';
import { useApp } from '../../lib/session.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Dialog } from '../../ui/dialog.js';
import { Checkbox, Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { SecretsShown } from '../../ui/secrets-shown.js';
import { Overlap } from './overlap.js';

const DAY_MS = 86_400_000;
/** The offered lifetimes of a key, in days; 0 is for ever. */
const LIVES = [
  [0, 'Never'],
  [7, 'In 7 days'],
  [30, 'In 30 days'],
  [90, 'In 90 days'],
  [365, 'In a year'],
];

/** A dialog that asks for the name and lifetime of a new key, and then shows the key once. */
export function CreateKey({ onClose, onDone }) {
  const { app, api } = useApp();
  const [made, setMade] = useState(undefined);
  // Fixed when the form is opened: a second try must send the very same.
  const [openedAtMs] = useState(() => Date.now());
  const send = ({ name, days, marketplace }, idempotencyKey) => {
    const expiresAt =
      Number(days) > 0 ? { expiresAt: new Date(openedAtMs + Number(days) * DAY_MS).toISOString() } : {};
    const body = { name, marketplace: marketplace === 'on', ...expiresAt };
    return ask('POST', `${api}/keys`, { body, idempotencyKey });
  };
  const form = useSubmit(send, keepAnd(app, setMade));
  if (made) return html`<${ShowKey} title="Your new key" apiKey=${made.apiKey} onDone=${onDone} />`;
  return html`<${Dialog} key="ask" title="Create an API key" onClose=${onClose}>
    <${Form} form=${form} submit="Create key" onCancel=${onClose}>
      <${Field} label="Name" name="name" required maxlength="64" autofocus placeholder="Production server"
        hint="Where this key is used, so that you know what breaks when you revoke it." fault=${form.faults['/name']} />
      <${Field} label="Expires" name="days" as="select" fault=${form.faults['/expiresAt']}>
        ${LIVES.map(([days, text]) => html`<option value=${days}>${text}</option>`)}
      <//>
      <${Checkbox} label="Marketplace key" name="marketplace"
        hint="A key for a third party, such as a marketplace listing. Marketplace keys are counted per account." />
    <//>
  <//>`;
}

/** Replaces a key by a new one; the old one keeps working for the chosen time. */
export function RollKey({ data, onClose, onDone }) {
  const { app, api } = useApp();
  const [made, setMade] = useState(undefined);
  const send = ({ overlapHours }, idempotencyKey) =>
    ask('POST', `${api}/keys/${encodeURIComponent(data.keyId)}/roll`, {
      body: { overlapHours: Number(overlapHours) },
      idempotencyKey,
    });
  const form = useSubmit(send, keepAnd(app, setMade));
  if (made)
    return html`<${ShowKey} title=${`The new “${data.name}”`} apiKey=${made.apiKey} onDone=${onDone} />`;
  return html`<${Dialog} key="ask" title=${`Roll “${data.name}”`} onClose=${onClose}>
    <${Form} form=${form} submit="Roll key" onCancel=${onClose}>
      <p class="prose">You get a new key under the same name. <code>${data.prefix}…${data.lastFour}</code> keeps
        working for the overlap, so that you can deploy without a gap.</p>
      <${Overlap} label="The old key stops working" fault=${form.faults['/overlapHours']} />
    <//>
  <//>`;
}

const ShowKey = ({ title, apiKey, onDone }) => html`<${Dialog} key="made" title=${title}>
  <${SecretsShown} secrets=${[['API key', apiKey]]} onDone=${onDone} />
<//>`;

const keepAnd = (app, setMade) => (answer) => {
  keepKey(app.clientId, answer.apiKey);
  setMade(answer);
};
