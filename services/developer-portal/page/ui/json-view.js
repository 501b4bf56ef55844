import { html } from '../lib/html.js';

/** Beyond this a text is shown without colours. */
const COLOURED_CHARS_MAX = 100_000;
const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A JSON value, set out and coloured. Its content is always rendered as text. */
export function JsonView({ value, label }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return html`<pre class="code" tabindex="0" aria-label=${label}>${
    text.length > COLOURED_CHARS_MAX ? text : colour(text)
  }</pre>`;
}

function colour(text) {
  const parts = [];
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
