import { html, useLayoutEffect, useRef } from '../core/html.js';
import { makeDomId } from './dom-id.js';

/**
 * A modal dialog that is open as long as it is drawn. The browser keeps the focus inside and gives it back.
 *
 * @param onClose called by Escape and the close button; without it the dialog closes by its own buttons only
 */
export function Dialog({ title, onClose, children, wide = false }) {
  const ref = useRef(null);
  const id = useRef(makeDomId('dialog'));
  useLayoutEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      if (opener?.isConnected) opener.focus();
    };
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    onClose?.();
  };
  // Chromium closes on a second Escape whatever the page wants; a secret that is shown once must stay.
  const keep = (event) => {
    if (event.key === 'Escape' && !onClose) event.preventDefault();
  };
  return html`<dialog ref=${ref} class=${wide ? 'dialog wide' : 'dialog'} aria-labelledby=${id.current}
    onCancel=${cancel} onKeyDown=${keep}>
    <header>
      <h2 id=${id.current}>${title}</h2>
      ${onClose && html`<button type="button" class="plain close" aria-label="Close" onClick=${onClose}>×</button>`}
    </header>
    ${children}
  </dialog>`;
}
