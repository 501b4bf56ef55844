import { html, useEffect, useLayoutEffect, useRef, useState, type Value } from '../lib/html.ts';
import type { Resource } from '../lib/resources.ts';
import { wasNavigated } from '../lib/router.ts';

/** Moves the focus to the head of the page, when the focused element is about to be removed. */
export function focusPageHead() {
  document.querySelector<HTMLElement>('.page-head h1')?.focus({ preventScroll: true });
}

/** The head of a page. After a navigation it gets the focus, so that keyboard and screen reader
 * begin here; on the first load they begin at the top as on any page. */
export function PageHead({ title, children, aside }) {
  const ref = useRef<HTMLElement>(null);
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

export const refreshButton = ({ reload }) => html`<button type="button" onClick=${reload}>Refresh</button>`;

/** Draws a resource, or that it is being read, or that it could not be read. Above old data it says
 * that they are old. */
export function loaded<T>({ value, error, reload }: Resource<T>, draw: (value: T) => Value) {
  if (value === undefined && error === undefined)
    return html`<div class="skeleton" role="status"><span class="visually-hidden">Loading…</span></div>`;
  return html`
    ${
      error &&
      html`<div class="notice bad" role="alert">
        <p>${error.message}${value !== undefined && ' This page may be out of date.'}</p>
        <button type="button" onClick=${reload}>Try again</button>
      </div>`
    }
    ${value !== undefined && draw(value)}`;
}

/** Draws the page of a resource, with its own head; under the title where it could not be read. */
export function loadedPage<T>(resource: Resource<T>, title: string, draw: (value: T) => Value) {
  const { value, error } = resource;
  if (error?.status === 404) return html`<${Missing} />`;
  return html`${error && value === undefined && html`<${PageHead} title=${title} />`}${loaded(resource, draw)}`;
}

/** Shown for an unknown path, and for an app that does not exist or belongs to another account. */
export const Missing = () => html`
  <${PageHead} title="Nothing here" />
  <p class="prose">This page does not exist, or it belongs to another account.</p>
  <p><a class="button" href="/apps">Back to your apps</a></p>
`;

/** What the rows of `usePages` are drawn as, or `empty` where there are none at all, and the button
 * for the next page. A page that found nothing may have a next one. */
export const Paged = ({ of: { first, rows, readMore }, empty, children }) =>
  loaded(
    first,
    () => html`
    ${rows.length > 0 ? children : readMore ? html`<${Empty} title="Nothing so far"><p>There are more entries to search.</p><//>` : empty}
    ${readMore && html`<div class="actions"><button type="button" onClick=${readMore}>${rows.length === 0 ? 'Search on' : 'Show more'}</button></div>`}
  `,
  );

/** Shown instead of an empty list. No heading: it is under that of its page or its card. */
export const Empty = ({ title, children }) =>
  html`<div class="empty"><p class="empty-title">${title}</p><div class="prose">${children}</div></div>`;

export const Card = ({ title, aside, children, class: className = '' }) =>
  html`<section class=${`card ${className}`}>
    ${(title || aside) && html`<header><h2>${title}</h2>${aside}</header>`}
    ${children}
  </section>`;

export const DangerZone = ({
  title,
  action,
  onClick,
  children,
}) => html`<${Card} title=${title} class="danger-zone">
  <p class="prose">${children}</p>
  <button type="button" class="danger" onClick=${onClick}>${action}</button>
<//>`;

/** Something that is drawn once the person asks: reading it takes the broker a moment. */
export function OnDemand({ action, children }) {
  const [isWanted, setIsWanted] = useState(false);
  return isWanted
    ? children
    : html`<div class="actions"><button type="button" onClick=${() => setIsWanted(true)}>${action}</button></div>`;
}

/** A part of a form that few people need. Once it is open, only the person closes it. */
export function Details({ summary, isOpen, children }) {
  const [open, setOpen] = useState(isOpen);
  useEffect(() => setOpen((last) => last || isOpen), [isOpen]);
  return html`<details class="more" open=${open} onToggle=${({ target }) => setOpen(target.open)}>
    <summary>${summary}</summary>${children}
  </details>`;
}

export const Crumb = ({ base, section, name }) =>
  html`<p class="crumbs"><a href=${`${base}/${section}`}>← ${name}</a></p>`;
