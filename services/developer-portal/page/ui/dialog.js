import { makeDomId } from '../lib/dom-id.js';
import { html, useLayoutEffect, useRef } from '../lib/html.js';

/**
 * A modal dialog that is open as long as it is drawn. The browser keeps the focus inside and gives it back.
 *
 * The focus begins at the first field, or at the heading where there is none: the close button is not a place to begin.
 *
 * @param isCovering whether nothing of the page behind may be read
 * @param onClose called by Escape and the close button; without it the dialog closes by its own buttons only
 */
export function Dialog({ title, onClose, children, isCovering = false }) {
  const ref = useRef(null);
  const id = useRef(makeDomId('dialog'));
  useLayoutEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    dialog.showModal();
    const first = dialog.querySelector('[autofocus], input:not([type=hidden], [readonly]), select, textarea');
    (first ?? dialog.querySelector('h2')).focus();
    return () => {
      dialog.close();
      if (opener?.isConnected) opener.focus();
    };
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    onClose?.();
  };
  // Chromium closes the dialog on a second Escape even if the page prevents it; a secret that is shown once must stay.
  const keep = (event) => {
    if (event.key === 'Escape' && !onClose) event.preventDefault();
  };
  return html`<dialog ref=${ref} class=${isCovering ? 'dialog covering' : 'dialog'} aria-labelledby=${id.current}
    onCancel=${cancel} onKeyDown=${keep}>
    <header>
      <h2 id=${id.current} tabindex="-1">${title}</h2>
      ${onClose && html`<button type="button" class="plain close" aria-label="Close" onClick=${onClose}>×</button>`}
    </header>
    ${children}
  </dialog>`;
}
