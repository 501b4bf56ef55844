import { ask } from '../../lib/api.js';
import { formatMinute } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Dialog } from '../../ui/dialog.js';
import { Form } from '../../ui/form.js';
import { SecretsShown } from '../../ui/secrets-shown.js';

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
