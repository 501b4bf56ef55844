import { html, useState } from '../lib/html.js';
import { useSubmit } from '../lib/use-submit.js';
import { Dialog } from './dialog.js';
import { Field } from './field.js';
import { Form } from './form.js';

/**
 * Asks before something that has large effects.
 *
 * @param typed a text that has to be typed first, for actions that destroy a lot
 */
export function Confirm({ title, children, action, tone = 'danger', typed, send, onDone, onClose }) {
  const [text, setText] = useState('');
  const form = useSubmit(async () => {
    if (typed !== undefined && text.trim() !== typed)
      throw Object.assign(new Error(''), {
        status: 422,
        faults: { '/typed': `Type “${typed}” exactly as shown.` },
      });
    return send();
  }, onDone);
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Form} form=${form} submit=${action} tone=${tone} onCancel=${onClose}>
      <div class="prose">${children}</div>
      ${
        typed !== undefined &&
        html`<${Field} label=${`Type “${typed}” to confirm`} name="typed" required value=${text}
          onInput=${(event) => setText(event.target.value)} fault=${form.faults['/typed']} />`
      }
    <//>
  <//>`;
}
