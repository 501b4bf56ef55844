import { html, useEffect, useLayoutEffect, useRef, useState, when } from '../lib/html.js';
import { wasNavigated } from '../lib/router.js';

/** @import { Value } from '/assets/vendor/htm-preact.js' */
/** @import { Resource } from '../lib/resources.js' */

/** Moves the focus to the head of the page, when the focused element is about to be removed. */
export function focusPageHead() {
  /** @type {HTMLElement | null} */
  const head = document.querySelector('.page-head h1');
  head?.focus({ preventScroll: true });
}

/**
 * The head of a page. After a navigation it gets the focus, so that keyboard and screen reader
 * begin here; on the first load they begin at the top as on any page.
 */
export function PageHead({ title, children, aside }) {
  const ref = useRef(/** @type {any} */ (null));
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

/**
 * Draws a resource, or that it is being read, or that it could not be read. Above old data it says
 * that they are old.
 * @template T
 * @param {Resource<T>} resource
 * @param {(value: T) => Value} draw
 * @param {string} [title] the head of the page where the resource could not be read, and with it no
 *   other head
 */
export function loaded({ value, error, reload }, draw, title) {
  if (value === undefined && error === undefined)
    return html`<div class="skeleton" role="status"><span class="visually-hidden">Loading…</span></div>`;
  return html`${title && value === undefined && html`<${PageHead} title=${title} />`}
    ${when(
      error,
      ({ message }) => html`<div class="notice bad" role="alert">
        <p>${message}${value !== undefined && ' This page may be out of date.'}</p>
        <button type="button" onClick=${reload}>Try again</button>
      </div>`,
    )}
    ${value !== undefined && draw(value)}`;
}

/**
 * The rows of `usePages`, and the button for the next page. A page that found nothing may have a
 * next one.
 * @template Row
 * @param {{ first: Resource<unknown>, rows: Row[], readMore: (() => void) | undefined }} pages
 * @param {Value} empty shown where there is nothing at all
 * @param {(rows: Row[]) => Value} draw
 */
export const paged = ({ first, rows, readMore }, empty, draw) =>
  loaded(
    first,
    () => html`
    ${rows.length > 0 ? draw(rows) : readMore ? html`<${Empty} title="Nothing so far"><p>There are more entries to search.</p><//>` : empty}
    ${readMore && html`<div class="actions"><button type="button" onClick=${readMore}>${rows.length === 0 ? 'Search on' : 'Show more'}</button></div>`}
  `,
  );

/** Shown instead of an empty list. No heading: it is under that of its page or its card. */
export const Empty = ({ title, children }) =>
  html`<div class="empty"><p class="empty-title">${title}</p><div class="prose">${children}</div></div>`;

/** A titled part of a page. */
export const Card = ({ title, aside, children, class: className = '' }) =>
  html`<section class=${`card ${className}`}>
    ${(title || aside) && html`<header><h2>${title}</h2>${aside}</header>`}
    ${children}
  </section>`;

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
