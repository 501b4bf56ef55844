/** The forms for visitors who are not signed in. Each other page shows the sign-in form instead. */
const FORMS = ['/sign-in', '/sign-up', '/forgotten-password', '/single-sign-on'];
const KEPT = 'wanted-page';

/**
 * The page to show after signing in: the one that the form replaces, or that it replaced before the
 * person went to another form or to the identity provider. The tab keeps it. An address that names it
 * could name another site, and would show the token of an invitation.
 */
export function wantedPage() {
  const { pathname, search, hash } = location;
  if (!FORMS.includes(pathname)) sessionStorage.setItem(KEPT, pathname + search + hash);
  return sessionStorage.getItem(KEPT) ?? '/';
}

/** Somebody is signed in. */
export const forgetWantedPage = () => sessionStorage.removeItem(KEPT);
