import { html } from '../core/html.js';
import { Copyable } from './copy.js';

/**
 * What a developer sees once and never again.
 *
 * @param secrets pairs of label and value
 */
export function SecretsShown({ secrets, note, onDone }) {
  return html`<div class="stack">
    <p class="notice warn"><strong>Shown once.</strong> ${warningOf(secrets.length)}</p>
    ${secrets.map(([label, value]) => html`<${Copyable} label=${label} value=${value} />`)}
    ${note && html`<p class="hint">${note}</p>`}
    <div class="actions"><button type="button" class="primary" onClick=${onDone}>I have stored ${
      secrets.length > 1 ? 'them' : 'it'
    }</button></div>
  </div>`;
}

const warningOf = (count) =>
  count > 1
    ? 'Nobody can show these again. Copy them to a safe place, such as your secret manager, before you go on.'
    : 'Nobody can show this again. Copy it to a safe place, such as your secret manager, before you go on.';
