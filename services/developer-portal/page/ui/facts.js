import { formatCount } from '../lib/format.js';
import { html } from '../lib/html.js';

/** A list of terms and values; terms without a value are left out. */
export const Facts = ({ pairs }) =>
  html`<dl class="facts-list">${pairs
    .filter(([, value]) => value !== undefined)
    .map(
      ([term, value]) => html`<div key=${term}><dt>${term}</dt><dd class="break">${value}</dd></div>`,
    )}</dl>`;

const LIMITS = [
  ['requestsPerSecond', 'Requests per second and app'],
  ['requestsPerMonth', 'Checks per month and app'],
  ['clientApps', 'Client apps'],
  ['marketplaceKeys', 'Marketplace keys'],
  ['liveKeys', 'Live keys of each app'],
  ['ruleSets', 'Rule sets of each app'],
  ['watches', 'Watches of each app'],
  ['watchMembers', 'Watched members of each app'],
  ['writesPerDay', 'Writes of each app in a day'],
];

/** The limits of an account as pairs for `Facts`. */
export const limitPairs = (limits) => LIMITS.map(([name, term]) => [term, formatCount(limits[name])]);
