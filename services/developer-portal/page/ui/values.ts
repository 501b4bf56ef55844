import type { Limits } from '../lib/api.ts';
import { formatCount, formatDistance, formatMinute } from '../lib/format.ts';
import { html } from '../lib/html.ts';

export const Badge = ({ tone = 'quiet', children }) =>
  html`<span class=${`badge ${tone}`}>${children}</span>`;

const STATES = {
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

/** A state that is not listed is shown as it is. */
export function StateBadge({ of, state }: { of: keyof typeof STATES; state: string }) {
  const states: Record<string, string[]> = STATES[of];
  const [tone, text] = states[state] ?? ['quiet', state];
  return html`<${Badge} tone=${tone}>${text}<//>`;
}

export const choicesOf = (of: keyof typeof STATES) =>
  Object.entries(STATES[of]).map(([state, [, text = '']]) => [state, text] as const);

export const Time = ({ at }) =>
  html`<time datetime=${at} title=${formatMinute(at)}>${formatDistance(at, Date.now())}</time>`;

/** A list of terms and values; terms without a value are left out. */
export const Facts = ({ pairs, class: className = '' }) =>
  html`<dl class=${`facts-list ${className}`}>${pairs
    .filter(([, value]) => value !== undefined && value !== false && value !== null && value !== '')
    .map(
      ([term, value]) => html`<div key=${term}><dt>${term}</dt><dd class="break">${value}</dd></div>`,
    )}</dl>`;

export const LIMITS: Record<keyof Limits, string> = {
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

export const limitPairs = (limits: Limits) =>
  Object.entries(LIMITS).map(([name, term]) => [term, formatCount(limits[name as keyof Limits])]);

/** A list of `li`, or `empty` where there are none. */
export const Rows = ({ empty, class: className = '', children }) =>
  children.length === 0 ? empty : html`<ul class=${`rows ${className}`}>${children}</ul>`;

/** A table that scrolls by itself where it is wider than the screen. A head that begins with `#`
 * is of numbers. */
export const Table = ({ label, heads, class: className = '', children }) =>
  html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table class=${className}>
    <thead><tr>${heads.map((head) =>
      head === ''
        ? html`<td></td>`
        : html`<th scope="col" class=${head.startsWith('#') ? 'number' : undefined}>${head.replace('#', '')}</th>`,
    )}</tr></thead>
    <tbody>${children}</tbody>
  </table></div>`;
