import { html, useEffect, useState } from '../lib/html.js';
import { Field } from './field.js';

const TYPING_MS = 250;

/** A field whose text is searched for shortly after typing has paused. */
export function SearchField({ label, value, maxlength = 254, onSearch }) {
  const [text, setText] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => text.trim() !== value && onSearch(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<${Field} label=${label} type="search" name="query" required maxlength=${maxlength} value=${text}
    onInput=${(event) => setText(event.target.value)} />`;
}
