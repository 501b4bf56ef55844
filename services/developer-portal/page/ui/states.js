import { formatDistance, formatMinute } from '../lib/format.js';
import { html } from '../lib/html.js';
import { PageHead } from './page-head.js';

/**
 * Shows a resource, or that it is being read, or that it could not be read. Above old data it says that they are old.
 *
 * @param title the head of the page where the resource could not be read, and with it no other head
 */
export function Loaded({ resource: { value, error, reload }, title, children }) {
  if (value === undefined && error === undefined)
    return html`<div class="skeleton" role="status"><span class="visually-hidden">Loading…</span></div>`;
  return html`${title && value === undefined && error !== undefined && html`<${PageHead} title=${title} />`}
    ${error !== undefined && html`<${ReadFault} error=${error} isOld=${value !== undefined} reload=${reload} />`}
    ${value !== undefined && children(value)}`;
}

const ReadFault = ({ error, isOld, reload }) => html`<div class="notice bad" role="alert">
  <p>${error.message}${isOld && ' This page may be out of date.'}</p>
  <button type="button" onClick=${reload}>Try again</button>
</div>`;

/** Shown instead of an empty list. No heading: it is under that of its page or its card. */
export const Empty = ({ title, children }) =>
  html`<div class="empty"><p class="empty-title">${title}</p><div class="prose">${children}</div></div>`;

export const Badge = ({ tone = 'quiet', children }) =>
  html`<span class=${`badge ${tone}`}>${children}</span>`;

/** An instant: how long ago, and on pointing the exact time. */
export const Time = ({ at }) =>
  html`<time datetime=${at} title=${formatMinute(at)}>${formatDistance(at, Date.now())}</time>`;

/** A titled part of a page. */
export const Card = ({ title, aside, children, class: className = '' }) =>
  html`<section class=${`card ${className}`}>
    ${(title || aside) && html`<header><h2>${title}</h2>${aside}</header>`}
    ${children}
  </section>`;

const SCOPES = {
  none: ['quiet', 'No scope yet'],
  requested: ['warn', 'Scope requested'],
  approved: ['good', 'Scope approved'],
  rejected: ['bad', 'Scope rejected'],
};
export const ScopeBadge = ({ state }) => {
  const [tone, text] = SCOPES[state] ?? ['quiet', state];
  return html`<${Badge} tone=${tone}>${text}<//>`;
};
