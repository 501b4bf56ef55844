import { ask } from '../../lib/api.js';
import { html, useState } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';

const HOUR_MS = 3_600_000;
const SPANS = [
  [1, 'the last hour'],
  [24, 'the last 24 hours'],
  [72, 'the last 3 days'],
  [720, 'the last 30 days'],
];

/** Asks for the start of the failed deliveries to resend. */
export function ResendFailed({ onClose, onDone }) {
  const { api } = useApp();
  const [openedAtMs] = useState(() => Date.now());
  const send = ({ hours }, idempotencyKey) =>
    ask('POST', `${api}/deliveries/resend-failed`, {
      body: { since: new Date(openedAtMs - Number(hours) * HOUR_MS).toISOString() },
      idempotencyKey,
    });
  const form = useSubmit(send, ({ count }) => onDone(count));
  return html`<${Dialog} title="Resend failed deliveries" onClose=${onClose}>
    <${Form} form=${form} submit="Resend" onCancel=${onClose}>
      <p class="prose">Every delivery that is exhausted or was stopped by a 410 is sent again with the same id and body.
        Your receiver should ignore ids it has handled.</p>
      <${Field} label="Failed within" as="select" name="hours" fault=${form.faults['/since']}>
        ${SPANS.map(([hours, text]) => html`<option value=${hours} selected=${hours === 24}>${text}</option>`)}
      <//>
    <//>
  <//>`;
}
