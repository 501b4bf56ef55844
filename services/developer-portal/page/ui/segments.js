import { makeDomId } from '../lib/dom-id.js';
import { html, useRef } from '../lib/html.js';

/** A choice of one among few, side by side: radio buttons, so that the arrow keys work. */
export function Segments({ label, options, value, onChange }) {
  const name = useRef(makeDomId('segments')).current;
  return html`<fieldset class="segments"><legend class="visually-hidden">${label}</legend>
    ${options.map(
      ([option, text]) => html`<label key=${option}>
        <input type="radio" name=${name} value=${option} checked=${option === value} onChange=${() => onChange(option)} />
        <span>${text}</span></label>`,
    )}
  </fieldset>`;
}
