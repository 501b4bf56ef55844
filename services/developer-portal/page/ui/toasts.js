import { html, useEffect, useState } from '../lib/html.js';

const SHOWN_MS = 6_000;
const SHOWN_MAX = 3;
/** @typedef {{ id: number, text: string, tone: string }} Toast */
/** @type {Set<(toast: Toast) => void>} */
const listeners = new Set();
let last = 0;

/** Says something that just happened, in a corner and to screen readers. */
export function toast(text, tone = 'good') {
  last += 1;
  for (const listener of listeners) listener({ id: last, text, tone });
}

/** The live region. It stays while the pointer or the focus is in it. */
export function Toasts() {
  const [shown, setShown] = useState(/** @type {Toast[]} */ ([]));
  const [isHeld, setIsHeld] = useState(false);
  const drop = (id) => setShown((before) => before.filter((one) => one.id !== id));
  useEffect(() => {
    /** @param {Toast} one */
    const add = (one) => setShown((before) => [...before, one].slice(-SHOWN_MAX));
    listeners.add(add);
    return () => void listeners.delete(add);
  }, []);
  useEffect(() => {
    const [first] = shown;
    if (isHeld || !first) return undefined;
    const timer = setTimeout(drop, SHOWN_MS, first.id);
    return () => clearTimeout(timer);
  }, [shown, isHeld]);
  const hold = (held) => () => setIsHeld(held);
  return html`<div class="toasts" role="status" aria-live="polite" onMouseEnter=${hold(true)}
    onMouseLeave=${hold(false)} onFocusIn=${hold(true)} onFocusOut=${hold(false)}>
    ${shown.map(
      ({ id, text, tone }) => html`<div class=${`toast toast-${tone}`} key=${id}>
        <span>${text}</span>
        <button type="button" class="plain" aria-label="Dismiss" onClick=${() => drop(id)}>×</button>
      </div>`,
    )}
  </div>`;
}
