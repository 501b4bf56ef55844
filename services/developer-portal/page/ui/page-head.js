import { html, useLayoutEffect, useRef } from '../lib/html.js';
import { wasNavigated } from '../lib/router.js';

/** Moves the focus to the head of the page, when the focused element is about to be removed. */
export const focusPageHead = () => document.querySelector('.page-head h1')?.focus({ preventScroll: true });

/**
 * The head of a page. After a navigation it gets the focus, so that keyboard and screen reader begin here;
 * on the first load they begin at the top as on any page.
 */
export function PageHead({ title, children, aside }) {
  const ref = useRef(null);
  useLayoutEffect(() => {
    document.title = `${title} · Rolecall`;
  }, [title]);
  useLayoutEffect(() => {
    if (wasNavigated()) ref.current.focus({ preventScroll: true });
  }, []);
  return html`<header class="page-head">
    <div class="page-title"><h1 ref=${ref} tabindex="-1">${title}</h1>${children}</div>
    ${aside && html`<div class="page-actions">${aside}</div>`}
  </header>`;
}
