/** The forms for visitors who are not signed in. Each other page shows the sign-in form instead. */
const FORMS = ['/sign-in', '/sign-up', '/forgotten-password'];
/** In the fragment, which browsers do not send: a page's own address may hold the token of an
 * invitation. */
const PREFIX = '#return=';

/**
 * The page to show after signing in: the page that the form replaces, or the page that the fragment
 * of the form's address names. Only a path of the portal itself is followed; anything else is `/`.
 *
 * @example
 * wantedPath(new URL('https://portal.example/sign-up#return=%2Finvitation%23token')); // '/invitation#token'
 */
export function wantedPath({ origin, pathname, search, hash }: URL | Location) {
  if (!FORMS.includes(pathname)) return pathname + search + hash;
  const url = hash.startsWith(PREFIX) ? parse(hash.slice(PREFIX.length), origin) : undefined;
  // `/.//host` is a path of the portal that a browser would read as another host.
  if (url === undefined || url.origin !== origin || url.pathname.startsWith('//')) return '/';
  return url.pathname + url.search + url.hash;
}

/**
 * The address of a form that leads back to a page.
 *
 * @example
 * withReturn('/sign-up', '/invitation#token'); // '/sign-up#return=%2Finvitation%23token'
 */
export const withReturn = (form: string, wanted: string) =>
  wanted === '/' ? form : form + PREFIX + encodeURIComponent(wanted);

/** A text that begins with a slash; undefined if it is another one. */
function parse(encoded: string, origin: string) {
  try {
    const text = decodeURIComponent(encoded);
    return text.startsWith('/') ? new URL(text, origin) : undefined;
  } catch {
    return undefined;
  }
}
