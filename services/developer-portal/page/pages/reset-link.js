import { ask } from '../core/api.js';
import { formatMinute } from '../core/format.js';
import { html, useState } from '../core/html.js';
import { useSubmit } from '../core/use-submit.js';
import { Dialog } from '../parts/dialog.js';
import { Form } from '../parts/form.js';
import { SecretsShown } from '../parts/secrets-shown.js';

/** Makes a link by which the owner of an account sets a new password. */
export function ResetLink({ data: { accountId, email }, onClose }) {
  const [made, setMade] = useState(undefined);
  const path = `/api/operator/accounts/${encodeURIComponent(accountId)}/reset-link`;
  const form = useSubmit(() => ask('POST', path), setMade);
  if (made)
    return html`<${Dialog} key="made" title="Link for a new password">
      <${SecretsShown} secrets=${[['Link', `${location.origin}/reset-password#${made.token}`]]} onDone=${onClose}
        note=${`It works once, until ${formatMinute(made.expiresAt)}. Send it to ${email} only.`} />
    <//>`;
  return html`<${Dialog} key="ask" title="Make a link for a new password?" onClose=${onClose}>
    <${Form} form=${form} submit="Make link" onCancel=${onClose}>
      <p class="prose break">Anyone with the link can take over the account ${email}, so send it only to its owner. An earlier link stops working.</p>
    <//>
  <//>`;
}
