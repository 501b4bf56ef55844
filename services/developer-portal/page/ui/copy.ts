import { html, useDomId, useEffect, useState, type Value } from '../lib/html.ts';
import { holdPage } from '../lib/router.ts';
import { toast } from './toasts.ts';

const SAID_MS = 2_000;
/** Beyond this a text is shown without colours. */
const COLOURED_CHARS_MAX = 100_000;
const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A button that copies a text and says so, beside itself: screen readers ignore texts outside an
 * open dialog. */
export function CopyButton({ text, what }) {
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setIsCopied(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async (event) => {
    if (await copyText(text, event.currentTarget)) setIsCopied(true);
    else toast('Your browser does not allow copying here: select the text and copy it.', 'bad');
  };
  return html`<button type="button" class="copy" onClick=${copy} aria-label=${isCopied ? `✓ Copied ${what}` : `Copy ${what}`}>
    ${isCopied ? '✓ Copied' : 'Copy'}
  </button><span class="visually-hidden" role="status">${isCopied ? `${what} copied` : ''}</span>`;
}

/** The clipboard is there on secure pages only; the older way works everywhere else. */
async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'visually-hidden';
    button.parentElement?.append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    button.focus();
    return isCopied;
  }
}

/** A value in a field of its own, for selecting and copying. Each line of a value of several stays
 * a line. */
export function Copyable({ label, value }) {
  const id = useDomId('copyable');
  const lines = value.split('\n').length;
  const select = ({ target }) => target.select();
  const shared = { id, class: 'mono', readonly: true, onFocus: select };
  return html`<div class="field copyable">
    <label for=${id}>${label}</label>
    <div class="with-button">
      ${lines > 1 ? html`<textarea rows=${lines} value=${value} ...${shared}></textarea>` : html`<input type="text" value=${value} ...${shared} />`}
      <${CopyButton} text=${value} what=${label} />
    </div>
  </div>`;
}

export const Identifier = ({ value, what }) =>
  html`<span class="identifier"><code>${value}</code><${CopyButton} text=${value} what=${what} /></span>`;

export const Code = ({ text, note, what, label, class: className = '' }) => html`
  <div class="code-head">${note}<${CopyButton} text=${text} what=${what} /></div>
  <pre class=${`code ${className}`} tabindex="0" aria-label=${label}>${text}</pre>`;

/** A JSON value, set out and coloured. Its content is always rendered as text. */
export function JsonView({ value, label }) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
  return html`<pre class="code" tabindex="0" aria-label=${label}>${
    text.length > COLOURED_CHARS_MAX ? text : colour(text)
  }</pre>`;
}

function colour(text) {
  const parts: Value[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string, colon, word] = match;
    parts.push(text.slice(end, match.index));
    if (string && colon) parts.push(html`<span class="json-name">${string}</span>${colon}`);
    else
      parts.push(
        html`<span class=${string ? 'json-string' : word ? 'json-word' : 'json-number'}>${whole}</span>`,
      );
    end = match.index + whole.length;
  }
  return [...parts, text.slice(end)];
}

/** Secrets that a developer sees once and never again. Until they say that it is stored, Back
 * stays on the page and a reload asks first. */
export function SecretsShown({ secrets, note, onDone }) {
  const [hasTried, setHasTried] = useState(false);
  useEffect(() => holdPage(() => setHasTried(true)), []);
  const [subject, verb, it] = secrets.length > 1 ? ['These', 'they are', 'them'] : ['This', 'it is', 'it'];
  return html`<div class="stack">
    <p class="notice warn"><strong>Shown once.</strong> ${subject} cannot be shown again. Copy ${it} to a safe place, such as
      your secret manager, before you continue. If you reload or leave this page before that, ${verb} lost.</p>
    ${hasTried && html`<p class="notice bad" role="alert">You are still here: store ${it} first, then press the button below.</p>`}
    ${secrets.map(([label, value]) => html`<${Copyable} label=${label} value=${value} />`)}
    ${note && html`<p class="hint">${note}</p>`}
    <div class="actions"><button type="button" class="primary" onClick=${onDone}>I have stored ${it}</button></div>
  </div>`;
}
