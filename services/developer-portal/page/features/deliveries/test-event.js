import { ask } from '../../lib/api.js';
import { html, useState } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Card } from '../../ui/states.js';

/** Sends a signed message without a check behind it. */
export function TestEvent({ onSent }) {
  const { api, base } = useApp();
  const [sent, setSent] = useState(undefined);
  const form = useSubmit(
    (body, idempotencyKey) => ask('POST', `${api}/test-event`, { body, idempotencyKey }),
    ({ requestId }) => {
      setSent(requestId);
      onSent();
    },
  );
  return html`<${Card} title="Test event">
    <${Form} form=${form} submit="Send test event" label="Test event">
      <${Field} label="Callback URL" name="callbackUrl" type="url" inputmode="url" required maxlength="2048"
        placeholder="https://example.com/hooks/rolecall" hint="A signed example message; one every 20 seconds at most."
        fault=${form.faults['/callbackUrl']} />
    <//>
    ${
      sent &&
      html`<p class="notice good" role="status">On its way:${' '}
        <a class="mono" href=${`${base}/webhooks/${encodeURIComponent(sent)}`}>${sent}</a></p>`
    }
  <//>`;
}
