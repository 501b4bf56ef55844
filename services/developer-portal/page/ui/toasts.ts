import { html, useEffect, useState } from '../lib/html.ts';

const SHOWN_MS = 6_000;
const SHOWN_MAX = 3;
type Toast = { id: number; text: string; tone: string };
let last = 0;
/** Set once the live region is drawn. */
let show: (toast: Toast) => void = () => {};

/** Says something that just happened, in a corner and to screen readers. */
export function toast(text: string, tone = 'good') {
  last += 1;
  show({ id: last, text, tone });
}

/** The live region. It stays while the pointer or the focus is in it. */
export function Toasts() {
  const [shown, setShown] = useState<Toast[]>([]);
  const [isHeld, setIsHeld] = useState(false);
  const drop = (id) => setShown((before) => before.filter((one) => one.id !== id));
  useEffect(() => {
    show = (one) => setShown((before) => [...before, one].slice(-SHOWN_MAX));
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
