import { makeDomId } from '../lib/dom-id.js';
import { html, useRef } from '../lib/html.js';

/**
 * A labelled field with its hint and, beside it, its fault. `as` is `input`, `textarea` or `select`;
 * everything else goes to that element.
 *
 * @example
 * html`<${Field} label="Name" name="name" required maxlength="64" fault=${faults['/name']} />`
 */
export function Field({ label, hint, fault, as = 'input', class: className = '', children, ...rest }) {
  const id = useRef(makeDomId('field')).current;
  const describedBy = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  const shared = {
    id,
    ...rest,
    'aria-invalid': fault ? 'true' : undefined,
    'aria-describedby': describedBy || undefined,
  };
  return html`<div class=${`field ${className}`}>
    <label for=${id}>${label}${rest.required ? '' : html`<span class="optional">${optional(as)}</span>`}</label>
    ${as === 'textarea' && html`<textarea ...${shared}></textarea>`}
    ${as === 'select' && html`<select ...${shared}>${children}</select>`}
    ${as === 'input' && html`<input type="text" autocomplete="off" spellcheck=${false} ...${shared} />`}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${fault && html`<p class="fault" id=${`${id}-fault`}>${fault}</p>`}
  </div>`;
}

const optional = (as) => (as === 'select' ? '' : ' optional');

/** A box to tick, with an explanation under it. */
export function Checkbox({ label, hint, name, ...rest }) {
  const id = useRef(makeDomId('box')).current;
  return html`<div class="checkbox">
    <input type="checkbox" id=${id} name=${name} aria-describedby=${hint ? `${id}-hint` : undefined} ...${rest} />
    <div><label for=${id}>${label}</label>${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}</div>
  </div>`;
}
