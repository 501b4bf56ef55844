import { ask } from '../../lib/api.js';
import { formatCount, formatSpan } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { usePages, useResource } from '../../lib/resources.js';
import { useQuery } from '../../lib/router.js';
import { useApp } from '../../lib/session.js';
import { Confirm, FilterField, useDialog } from '../../ui/form.js';
import { Card, Empty, loaded, PageHead, paged, refreshButton } from '../../ui/page.js';
import { Badge, StateBadge, Table, Time } from '../../ui/values.js';
import { Missing } from '../frame/frame.js';
import { fragmentOf } from '../try/check-address.js';
import { Why } from '../try/why.js';
import { summariseRoles } from './summarise-roles.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @import { RuleDetail } from '#shared/contracts/checks/result.ts' */
/** @typedef {Answer<'GET /api/apps/:clientId/watches/:watchId/events'>['events'][number]}
 * WatchEvent */
/**
 * @typedef {{ type: string, ref?: string, account?: string, accounts?: string[], sequence?: number,
 *   cause?: string, details?: readonly RuleDetail[], blockNumbers?: Record<string, number>,
 *   transfer?: { transactionHash: string } }} Event
 */
/** @typedef {Answer<'GET /api/apps/:clientId/watches/:watchId/members'>['members'][number]}
 * Member */

const MEMBERS_COUNT = 50;
/** Roles shown of one event; the others are on the page of its delivery. */
const ROLES_SHOWN_MAX = 10;
/** @type {Record<string, string>} */
const CAUSES = {
  first: 'First check',
  transfer: 'Transfer',
  schedule: 'Sweep',
  'rule-set': 'Changed rules',
  release: 'Release',
};

/** The query of this page that shows the events of one member. */
const queryOfMember = (member) => `?${new URLSearchParams({ member })}`;

/** One watch: its held revocations, its events, how its contracts are followed, and its members. */
export function Watch({ item }) {
  const { clientId, base, may } = useApp();
  const params = { clientId, watchId: item };
  const query = useQuery({ member: '' });
  const [{ member }, setFilter] = query;
  const resource = useResource('GET /api/apps/:clientId/watches/:watchId', params);
  const events = usePages(
    'GET /api/apps/:clientId/watches/:watchId/events',
    params,
    'events',
    'before',
    { member },
    'eventId',
  );
  const members = usePages('GET /api/apps/:clientId/watches/:watchId/members', params, 'members', 'after', {
    limit: MEMBERS_COUNT,
  });
  const reload = () => {
    for (const one of [resource, events.first, members.first]) one.reload();
  };
  const [dialog, open] = useDialog(reload);
  const release = () =>
    open(html`<${Confirm} title="Release the held revocations?" action="Release"
        send=${() => ask('POST /api/apps/:clientId/watches/:watchId/release', { params })}
        said="The held revocations are being sent">
        <p>The receiver of this watch gets the revocations of these roles. If a provider answered wrong balances, wait for
          the next sweep instead: it drops every revocation that was wrong.</p>
      <//>`);
  if (resource.error?.status === 404) return html`<${Missing} />`;
  return loaded(
    resource,
    (watch) => html`
    <${PageHead} title=${watch.watchId} aside=${refreshButton({ reload })}>
      <p class="sub"><${StateBadge} of="watch" state=${watch.state} /> Rule set <code>${watch.ruleSet}</code>, checked
        ${' '}every ${formatSpan(watch.everySeconds)}.</p>
    <//>
    ${watch.reason && html`<p class="notice">Paused: ${watch.reason}.</p>`}
    ${(watch.stalled ?? []).map(
      ({ chainId, since }) =>
        html`<p class="notice warn" key=${chainId}>Stalled: chain ${chainId} was last read <${Time} at=${since} />. Nothing is
          ${' '}revoked meanwhile, and members keep their roles.</p>`,
    )}
    ${
      watch.held.length > 0 &&
      html`<${Card} title="Held revocations" aside=${
        may('releaseWatch') && html`<button type="button" class="danger" onClick=${release}>Release…</button>`
      }>
        <p>Too many members would have lost ${watch.held.length === 1 ? 'this role' : 'these roles'} at once:
          ${' '}${watch.held.map((id) => html`<code class="break" key=${id}>${id}</code> `)}</p>
      <//>`
    }
    <${Card} title="Events"
      aside=${member && html`<button type="button" onClick=${() => setFilter({ member: '' })}>All members</button>`}>
      <p class="sub">Events of the last 72 hours, from the newest 10 000 webhooks of this app. Enter a member to see all of
        ${' '}its events.</p>
      <div class="filters"><${FilterField} query=${query} label="Member" name="member" maxlength="128" placeholder="Ref or account" /></div>
      ${
        events.first.error?.status === 404
          ? html`<${Empty} title="This watch has no such member" />`
          : paged(
              events,
              html`<${Empty} title="Nothing found"><p>A member has its first event after its first check.</p><//>`,
              (list) =>
                html`<ul class="rows inner" aria-label="Events">${list.map((one) => drawEvent(one, base))}</ul>`,
            )
      }
    <//>
    <${Card} title="Contracts">${
      watch.following.length === 0
        ? html`<p>No contract is followed: members are checked by sweeps.</p>`
        : html`<${Table} label="Contracts" heads=${['Contract', 'Chain', 'Followed']}>${watch.following.map(
            ({ chainId, contractAddress, state, reason }) => html`<tr key=${`${chainId}/${contractAddress}`}>
              <td><code>${contractAddress}</code></td><td>${chainId}</td>
              <td><${Badge} tone=${state === 'live' ? 'good' : 'warn'}>${state === 'live' ? 'Live' : 'Sweeps only'}<//>
                ${reason && html` ${reason}`}</td>
            </tr>`,
          )}<//>`
    }<//>
    <${Card} title="Members">${paged(
      members,
      html`<${Empty} title="No members yet" />`,
      (list) =>
        html`<${Table} label="Members" heads=${['Member', 'Roles', 'Events', 'Checked']}>${list.map((one) =>
          drawMember(one, may('tryCheck') && tryOf(one, watch.ruleSet, base)),
        )}<//>`,
    )}<//>
    ${dialog}
  `,
    item,
  );
}

/** @param {WatchEvent} one */
function drawEvent({ eventId, at, delivery, event }, base) {
  const { type, ref, account, accounts = [], sequence, cause, ...rest } = /** @type {Event} */ (event);
  const { details, blockNumbers, transfer } = rest;
  const name = ref ?? account ?? '';
  const roles = summariseRoles(event);
  return html`<li key=${eventId}>
    <div class="grow">
      <p class="row-title">${
        type === 'roles.changed'
          ? html`<a class="break" href=${queryOfMember(name)}>${name}</a>`
          : html`<code>${type}</code>`
      }</p>
      ${ref && html`<p class="sub mono break">${account ?? accounts.join(', ')}</p>`}
      <${Why} details=${details} blocks=${blockNumbers} />
    </div>
    <div class="badges">
      ${roles.slice(0, ROLES_SHOWN_MAX).map(({ id, tone, text }) => html`<span key=${id}><${Badge} tone=${tone}>${text}<//> <code class="break">${id}</code></span>`)}
      ${roles.length > ROLES_SHOWN_MAX && html`<span class="sub">and ${roles.length - ROLES_SHOWN_MAX} more</span>`}
    </div>
    <p class="sub facts">
      ${sequence !== undefined && html`<span>Sequence ${sequence}</span>`}
      ${cause && html`<span>${CAUSES[cause] ?? cause}</span>`}
      ${transfer && html`<span class="break">in <code>${transfer.transactionHash}</code></span>`}
      ${at && html`<span><${Time} at=${at} /></span>`}
      ${
        delivery
          ? html`<span><a href=${`${base}/webhooks/${encodeURIComponent(eventId)}`}>Delivery</a> <${StateBadge} of="delivery" state=${delivery} /></span>`
          : html`<span>Not sent yet</span>`
      }
    </p>
  </li>`;
}

/** The page that checks a member by the rule set of the watch, with the amounts that are compared.
 * @param {Member} member */
function tryOf({ account, accounts, vaults }, ruleSet, base) {
  const wallets = accounts ? { accounts } : { account };
  const fragment = fragmentOf({ ...wallets, ...(vaults && { vaults }), explain: true, ruleSet });
  return fragment && `${base}/try${fragment}`;
}

/** @param {Member} member @param {string | false | undefined} tryPath */
function drawMember(
  { account, accounts = [], ref, roles, pending = [], errors, sequence, checkedAt, blockNumbers },
  tryPath,
) {
  const name = ref ?? account ?? '';
  return html`<tr key=${name}>
    <td>${ref && html`${ref} `}<code>${account ?? accounts.join(', ')}</code></td>
    <td>${roles.map(
      ({ id, granted, since, revocationHeld }) => html`<div key=${id}>
        <${Badge} tone=${granted ? 'good' : 'quiet'}>${id}: ${granted ? 'granted' : 'denied'}<//> since
        ${' '}<${Time} at=${since} />${revocationHeld && ' (revocation held)'}
        ${pending.some((one) => one.id === id) && ' (revocation in its grace)'}</div>`,
    )}
    ${errors.map(({ roleId, message }, place) => html`<p class="sub" key=${place}>Role <code>${roleId}</code> could not be read: ${message}</p>`)}
    ${tryPath && html`<a href=${tryPath} aria-label=${`Why has ${name} these roles?`}>Why?</a>`}</td>
    <td>${sequence === 0 ? '0' : html`<a href=${queryOfMember(name)} aria-label=${`${sequence} of ${name}`}>${sequence}</a>`}</td>
    <td>${checkedAt ? html`<${Time} at=${checkedAt} />${describeBlocks(blockNumbers)}` : 'not yet'}</td>
  </tr>`;
}

/** @param {Record<string, number>} blockNumbers by chain id */
const describeBlocks = (blockNumbers) =>
  Object.entries(blockNumbers).map(
    ([chainId, number]) =>
      html`<div class="sub" key=${chainId}>block ${formatCount(number)} of chain ${chainId}</div>`,
  );
