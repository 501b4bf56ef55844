import { useEffect, useState } from './html.js';

const listeners = new Set();
let isNavigated = false;
const announce = () => {
  isNavigated = true;
  for (const listener of listeners) listener();
};

/** Goes to a path of the page, without loading it anew. */
export function navigate(path, { replace = false } = {}) {
  history[replace ? 'replaceState' : 'pushState'](null, '', path);
  if (!replace) scrollTo(0, 0);
  announce();
}

/** Whether the page was gone to from another one, and not loaded. */
export const wasNavigated = () => isNavigated;

/** The current path; the component is drawn again when it changes. */
export function usePath() {
  const [path, setPath] = useState(location.pathname);
  useEffect(() => {
    const look = () => setPath(location.pathname);
    listeners.add(look);
    look();
    return () => listeners.delete(look);
  }, []);
  return path;
}

/** Makes every ordinary link within the page, and the browser's own buttons, go through `navigate`. */
export function followLinks() {
  addEventListener('popstate', announce);
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.target) return;
    const { origin, pathname, hash } = new URL(link.href);
    if (origin !== location.origin || hash || /^\/(api|assets)\//.test(pathname)) return;
    event.preventDefault();
    navigate(pathname);
  });
}
