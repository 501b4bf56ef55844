import { formatCount, formatDistance, formatMinute } from '../lib/format.js';
import { html, useDomId } from '../lib/html.js';
import { paged } from './page.js';

/** @import { VNode } from '/assets/vendor/htm-preact.js' */
/** @import { Limits } from '../lib/types.ts' */

export const Badge = ({ tone = 'quiet', children }) =>
  html`<span class=${`badge ${tone}`}>${children}</span>`;

/** The tone and the words of each state that something has. */
export const STATES = {
  scope: {
    none: ['quiet', 'No scope yet'],
    requested: ['warn', 'Scope requested'],
    approved: ['good', 'Scope approved'],
    rejected: ['bad', 'Scope rejected'],
  },
  check: { completed: ['good', 'Completed'], failed: ['bad', 'Failed'] },
  batch: { pending: ['warn', 'Running'], completed: ['good', 'Completed'], abandoned: ['bad', 'Abandoned'] },
  delivery: {
    pending: ['warn', 'Pending'],
    delivered: ['good', 'Delivered'],
    exhausted: ['bad', 'Given up'],
    stopped: ['bad', 'Stopped by 410'],
  },
  chain: { ok: ['good', 'OK'], down: ['bad', 'Cannot be read'], unknown: ['quiet', 'Not asked lately'] },
  watch: { active: ['good', 'Active'], paused: ['quiet', 'Paused'], held: ['bad', 'Revocations held'] },
};

/** A state that is not listed is shown as it is.
 * @param {{ of: keyof typeof STATES, state: string }} props */
export function StateBadge({ of, state }) {
  /** @type {Record<string, string[]>} */
  const states = STATES[of];
  const [tone, text] = states[state] ?? ['quiet', state];
  return html`<${Badge} tone=${tone}>${text}<//>`;
}

/** An instant: how long ago, and on pointing the exact time. */
export const Time = ({ at }) =>
  html`<time datetime=${at} title=${formatMinute(at)}>${formatDistance(at, Date.now())}</time>`;

/** A list of terms and values; terms without a value are left out. */
export const Facts = ({ pairs, class: className = '' }) =>
  html`<dl class=${`facts-list ${className}`}>${pairs
    .filter(([, value]) => value !== undefined && value !== false && value !== null && value !== '')
    .map(
      ([term, value]) => html`<div key=${term}><dt>${term}</dt><dd class="break">${value}</dd></div>`,
    )}</dl>`;

/** The words for the limits of an account, in the order in which they are listed. @type
 * {Record<keyof Limits, string>} */
export const LIMITS = {
  requestsPerSecond: 'Requests per second and app',
  requestsPerMonth: 'Checks per month and app',
  clientApps: 'Client apps',
  marketplaceKeys: 'Marketplace keys',
  liveKeys: 'Live keys of each app',
  ruleSets: 'Rule sets of each app',
  watches: 'Watches of each app',
  watchMembers: 'Watched members of each app',
  writesPerDay: 'Writes of each app in a day',
};

/** The limits of an account as pairs for `Facts`.
 * @param {Limits} limits
 * @returns {[term: string, value: string][]} */
export const limitPairs = (limits) =>
  Object.entries(LIMITS).map(([name, term]) => [
    term,
    formatCount(limits[/** @type {keyof Limits} */ (name)]),
  ]);

/**
 * A list of rows, or what is shown where there are none.
 * @template T
 * @param {readonly T[]} list
 * @param {(one: T, place: number) => VNode} draw one row, as `li`
 */
export const rows = (list, empty, draw, className = '') =>
  list.length === 0 ? empty : html`<ul class=${`rows ${className}`}>${list.map(draw)}</ul>`;

/**
 * The rows of pages of a list, or what is shown where there are none.
 * @template T
 * @param {Parameters<typeof paged<T>>[0]} pages
 * @param {(one: T, place: number) => VNode} draw one row, as `li`
 */
export const pagedRows = (pages, empty, draw, className = '') =>
  paged(pages, empty, (list) => rows(list, null, draw, className));

/**
 * A table that scrolls by itself where it is wider than the screen. A head that begins with `#` is
 * of numbers.
 */
export const Table = ({ label, heads, class: className = '', children }) =>
  html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table class=${className}>
    <thead><tr>${heads.map((head) =>
      head === ''
        ? html`<td></td>`
        : html`<th scope="col" class=${head.startsWith('#') ? 'number' : undefined}>${head.replace('#', '')}</th>`,
    )}</tr></thead>
    <tbody>${children}</tbody>
  </table></div>`;

/** A choice of one among few, side by side: radio buttons, so that the arrow keys work. */
export function Segments({ label, options, value, onChange }) {
  const name = useDomId('segments');
  return html`<fieldset class="segments"><legend class="visually-hidden">${label}</legend>
    ${options.map(
      ([option, text]) => html`<label key=${option}>
        <input type="radio" name=${name} value=${option} checked=${option === value} onChange=${() => onChange(option)} />
        <span>${text}</span></label>`,
    )}
  </fieldset>`;
}
