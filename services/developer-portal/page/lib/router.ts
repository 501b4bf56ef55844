import { useEffect, useState } from './html.ts';

/** Paths that the server answers with something else than the page. */
const NOT_OF_THE_PAGE = /^\/(api\/|assets\/|docs(\/|$)|openapi\.json$)/;

const listeners = new Set<() => void>();
let isNavigated = false;
/** Set while the page must not be left: its address, and the function to call when the user tries
 * to leave it. */
let held: { url: string; onTry: () => void } | undefined;

function announce() {
  if (held) {
    // The browser has already gone back, so its new history entry is replaced by the page's.
    history.pushState(null, '', held.url);
    return held.onTry();
  }
  isNavigated = true;
  for (const listener of listeners) listener();
}

/** Goes to a path of the page. Ignores `held`: the page itself decides to leave. */
export function navigate(path: string, { replace = false } = {}) {
  held = undefined;
  history[replace ? 'replaceState' : 'pushState'](null, '', path);
  if (!replace) scrollTo(0, 0);
  announce();
}

/** Keeps the page where it is until the returned function is called: the browser's Back stays here
 * and calls `onTry`, and a reload asks first. */
export function holdPage(onTry: () => void) {
  const mine = { url: location.pathname + location.search, onTry };
  const ask = (event: Event) => event.preventDefault();
  held = mine;
  addEventListener('beforeunload', ask);
  return () => {
    if (held === mine) held = undefined;
    removeEventListener('beforeunload', ask);
  };
}

/** Whether the current page was reached from another page of the portal, without a load. */
export const wasNavigated = () => isNavigated;

/** A part of the address; the component is drawn again when it changes. */
function useAddress<T>(read: () => T) {
  const [value, setValue] = useState(read);
  useEffect(() => {
    const look = () => setValue(read());
    listeners.add(look);
    look();
    return () => void listeners.delete(look);
  }, []);
  return [value, setValue] as const;
}

export const usePath = () => useAddress(() => location.pathname)[0];

/**
 * The filter of a list, kept in the address, so that Back, a reload and a shared link show the same
 * list. A value that is the default is left out.
 *
 * @example
 * const [filters, setFilters] = useQuery({ state: '', since: '' });
 * setFilters({ state: 'exhausted' }); // …?state=exhausted
 */
export function useQuery<T extends Record<string, string>>(defaults: T): [T, (changes: Partial<T>) => void] {
  const [values, setValues] = useAddress(() => {
    const given = new URLSearchParams(location.search);
    const entries = Object.entries(defaults).map(([name, value]) => [name, given.get(name) ?? value]);
    return Object.fromEntries(entries) as T;
  });
  const change = (changes: Partial<T>) => {
    const next = { ...values, ...changes };
    const kept = Object.entries(next).filter(([name, value]) => value !== defaults[name]);
    const query = kept.length > 0 ? `?${new URLSearchParams(kept)}` : '';
    history.replaceState(null, '', location.pathname + query);
    setValues(next);
  };
  return [values, change];
}

/** Makes every ordinary link within the page, and the browser's own buttons, go through
 * `navigate`. */
export function followLinks() {
  addEventListener('popstate', announce);
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element && event.target.closest<HTMLAnchorElement>('a[href]');
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.target) return;
    const { origin, pathname, search, hash } = new URL(link.href);
    const isHere = pathname === location.pathname && search === location.search;
    if (origin !== location.origin || (hash && isHere) || NOT_OF_THE_PAGE.test(pathname)) return;
    event.preventDefault();
    navigate(pathname + search + hash);
  });
}
