import { makeDomId } from '../lib/dom-id.js';
import { html, useEffect, useRef, useState } from '../lib/html.js';
import { toast } from './toasts.js';

const SAID_MS = 2_000;

/** A button that copies a text and says so, beside itself: screen readers ignore texts outside an open dialog. */
export function CopyButton({ text, what, label = 'Copy' }) {
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
    ${isCopied ? '✓ Copied' : label}
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
    button.parentElement.append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    button.focus();
    return isCopied;
  }
}

/** A value in a field of its own, for selecting and copying. Each line of a value of several stays a line. */
export function Copyable({ label, value }) {
  const id = useRef(makeDomId('copyable')).current;
  const lines = value.split('\n').length;
  const shared = { id, class: 'mono', readonly: true, onFocus: (event) => event.target.select() };
  return html`<div class="field copyable">
    <label for=${id}>${label}</label>
    <div class="with-button">
      ${lines > 1 ? html`<textarea rows=${lines} value=${value} ...${shared}></textarea>` : html`<input type="text" value=${value} ...${shared} />`}
      <${CopyButton} text=${value} what=${label} />
    </div>
  </div>`;
}

/** A short identifier in a line of text. */
export const Identifier = ({ value, what }) =>
  html`<span class="identifier"><code>${value}</code><${CopyButton} text=${value} what=${what} /></span>`;
