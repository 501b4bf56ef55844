import { html, useEffect } from '../../lib/html.js';
import { useQuery } from '../../lib/router.js';
import { useApp } from '../../lib/session.js';
import { usePages } from '../../lib/use-pages.js';
import { Field } from '../../ui/field.js';
import { Pages } from '../../ui/pages.js';
import { Badge, Card, Empty, Time } from '../../ui/states.js';
import { StateBadge } from '../deliveries/deliveries.js';
import { summariseRoles } from './summarise-roles.js';

const PAGE_COUNT = 25;
/** Roles shown of one event; the others are on the page of its delivery. */
const ROLES_SHOWN_MAX = 10;
const CAUSES = {
  first: 'First check',
  transfer: 'Transfer',
  schedule: 'Sweep',
  'rule-set': 'Changed rules',
  release: 'Release',
};

/** The query of this page that shows the events of one member. */
export const queryOfMember = (member) => `?${new URLSearchParams({ member })}`;

/**
 * The newest events of a watch or of one of its members. Which member is kept in the address.
 *
 * @param path the watch in the API
 * @param round the list is read again when it grows
 */
export function WatchEvents({ path, round }) {
  const [{ member }, setFilter] = useQuery({ member: '' });
  const aside =
    member && html`<button type="button" onClick=${() => setFilter({ member: '' })}>All members</button>`;
  return html`<${Card} title="Events" aside=${aside}>
    <p class="sub">Events of the last 72 hours, from the newest 10 000 webhooks of this app. Enter a member to see all of
      ${' '}its events.</p>
    <div class="filters"><${Field} label="Member" name="member" maxlength="128" placeholder="Ref or account" value=${member}
      onChange=${(event) => setFilter({ member: event.target.value.trim() })} /></div>
    <${EventPages} key=${member} path=${path} member=${member} round=${round} />
  <//>`;
}

function EventPages({ path, member, round }) {
  const pages = usePages(
    (before) => {
      const query = new URLSearchParams({ limit: String(PAGE_COUNT) });
      for (const [name, value] of Object.entries({ member, before })) if (value) query.set(name, value);
      return `${path}/events?${query}`;
    },
    ({ events }) => events,
    ({ eventId }) => eventId,
  );
  useEffect(() => round > 0 && pages.first.reload(), [round]);
  if (pages.first.error?.status === 404) return html`<${Empty} title="This watch has no such member" />`;
  const empty = 'A member has its first event after its first check.';
  return html`<${Pages} pages=${pages} empty=${empty}>${(events) =>
    html`<ul class="rows inner" aria-label="Events">${events.map((one) => html`<${Row} key=${one.eventId} data=${one} />`)}</ul>`}<//>`;
}

function Row({ data: { eventId, at, delivery, event } }) {
  const { base } = useApp();
  const { type, ref, account, accounts, sequence, cause } = event;
  return html`<li>
    <div class="grow">
      <p class="row-title">${
        type === 'roles.changed'
          ? html`<a class="break" href=${queryOfMember(ref ?? account)}>${ref ?? account}</a>`
          : html`<code>${type}</code>`
      }</p>
      ${ref && html`<p class="sub mono break">${account ?? accounts.join(', ')}</p>`}
    </div>
    <div class="badges"><${Roles} event=${event} /></div>
    <p class="sub facts">
      ${sequence !== undefined && html`<span>Sequence ${sequence}</span>`}
      ${cause && html`<span>${CAUSES[cause] ?? cause}</span>`}
      ${at && html`<span><${Time} at=${at} /></span>`}
      ${
        delivery
          ? html`<span><a href=${`${base}/webhooks/${encodeURIComponent(eventId)}`}>Delivery</a> <${StateBadge} state=${delivery} /></span>`
          : html`<span>Not sent yet</span>`
      }
    </p>
  </li>`;
}

function Roles({ event }) {
  const roles = summariseRoles(event);
  const more = roles.length - ROLES_SHOWN_MAX;
  return html`${roles
    .slice(0, ROLES_SHOWN_MAX)
    .map(
      ({ id, tone, text }) =>
        html`<span key=${id}><${Badge} tone=${tone}>${text}<//> <code class="break">${id}</code></span>`,
    )}
    ${more > 0 && html`<span class="sub">and ${more} more</span>`}`;
}
