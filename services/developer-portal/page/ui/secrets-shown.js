import { html, useEffect, useState } from '../lib/html.js';
import { holdPage } from '../lib/router.js';
import { Copyable } from './copy.js';

/**
 * Secrets that a developer sees once and never again. Until they say that it is stored, Back stays on the page and a reload
 * asks first.
 *
 * @param secrets pairs of label and value
 */
export function SecretsShown({ secrets, note, onDone }) {
  const [hasTried, setHasTried] = useState(false);
  useEffect(() => holdPage(() => setHasTried(true)), []);
  const it = secrets.length > 1 ? 'them' : 'it';
  return html`<div class="stack">
    <p class="notice warn"><strong>Shown once.</strong> ${warningOf(secrets.length)} If you reload or leave this page before
      that, ${secrets.length > 1 ? 'they are' : 'it is'} lost.</p>
    ${hasTried && html`<p class="notice bad" role="alert">You are still here: store ${it} first, then press the button below.</p>`}
    ${secrets.map(([label, value]) => html`<${Copyable} label=${label} value=${value} />`)}
    ${note && html`<p class="hint">${note}</p>`}
    <div class="actions"><button type="button" class="primary" onClick=${onDone}>I have stored ${it}</button></div>
  </div>`;
}

const warningOf = (count) =>
  count > 1
    ? 'These cannot be shown again. Copy them to a safe place, such as your secret manager, before you continue.'
    : 'This cannot be shown again. Copy it to a safe place, such as your secret manager, before you continue.';
