import type { RolesChanged } from '#shared/client/api-types.ts';
import { type Answer, sends } from '../../lib/api.ts';
import { formatCount, formatPlural, formatSpan } from '../../lib/format.ts';
import { html } from '../../lib/html.ts';
import { usePages, useResource } from '../../lib/resources.ts';
import { useQuery } from '../../lib/router.ts';
import { useApp } from '../../lib/session.ts';
import { Confirm, FilterField, openDialog } from '../../ui/form.ts';
import { Card, Empty, loaded, loadedPage, Paged, PageHead, refreshButton } from '../../ui/page.ts';
import { Badge, StateBadge, Table, Time } from '../../ui/values.ts';
import { fragmentOf } from '../try/check-address.ts';
import { Why } from '../try/why.ts';
import { type Event, summariseRoles } from './summarise-roles.ts';

export function Watches() {
  const { clientId, base } = useApp();
  const resource = useResource('GET /api/apps/:clientId/watches', { clientId });
  return html`
    <${PageHead} title="Watches" aside=${refreshButton(resource)}>
      <p class="sub">A watch checks its members and sends a webhook when their roles change. Make one by the API.</p>
    <//>
    <${Card}>${loaded(resource, ({ watches }) =>
      watches.length === 0
        ? html`<${Empty} title="No watches yet"><p>Make one with <code>PUT /access-control/watches/{id}</code>.</p><//>`
        : html`<${Table} label="Watches" heads=${['Watch', 'State', 'Members', 'Rule set']}>${watches.map(
            ({ watchId, state, members, ruleSet, stalled = [] }) => html`<tr key=${watchId}>
              <td><a href=${`${base}/watches/${encodeURIComponent(watchId)}`}>${watchId}</a></td>
              <td><${StateBadge} of="watch" state=${state} />
                ${stalled.length > 0 && html` <${Badge} tone="warn">Stalled: chain ${stalled.map(({ chainId }) => chainId).join(', ')} cannot be read<//>`}</td>
              <td>${formatPlural(members, 'member')}</td>
              <td><code>${ruleSet}</code></td>
            </tr>`,
          )}<//>`,
    )}<//>
  `;
}

type WatchEvent = Answer<'GET /api/apps/:clientId/watches/:watchId/events'>['events'][number];
type Member = Answer<'GET /api/apps/:clientId/watches/:watchId/members'>['members'][number];

const MEMBERS_COUNT = 50;
/** Roles shown of one event; the others are on the page of its delivery. */
const ROLES_SHOWN_MAX = 10;
const CAUSES: Record<string, string> = {
  first: 'First check',
  transfer: 'Transfer',
  schedule: 'Sweep',
  'rule-set': 'Changed rules',
  release: 'Release',
};

const queryOfMember = (member) => `?${new URLSearchParams({ member })}`;

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
    { member },
    'eventId',
  );
  const members = usePages('GET /api/apps/:clientId/watches/:watchId/members', params, 'members', {
    limit: MEMBERS_COUNT,
  });
  const reload = () => {
    for (const one of [resource, events.first, members.first]) one.reload();
  };
  const release = () =>
    openDialog(html`<${Confirm} after=${reload} title="Release the held revocations?" action="Release"
        send=${sends('POST /api/apps/:clientId/watches/:watchId/release', params)}
        said="The held revocations are being sent">
        <p>The receiver of this watch gets the revocations of these roles. If a provider answered wrong balances, wait for
          the next sweep instead: it drops every revocation that was wrong.</p>
      <//>`);
  const releaseButton = html`<button type="button" class="danger" onClick=${release}>Release…</button>`;
  return loadedPage(
    resource,
    item,
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
      html`<${Card} title="Held revocations" aside=${may('releaseWatch') && releaseButton}>
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
          : html`<${Paged} of=${events} empty=${html`<${Empty} title="Nothing found"><p>A member has its first event after its first check.</p><//>`}>
              <ul class="rows inner" aria-label="Events">${events.rows.map((one) => drawEvent(one, base))}</ul><//>`
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
    <${Card} title="Members"><${Paged} of=${members} empty=${html`<${Empty} title="No members yet" />`}>
      <${Table} label="Members" heads=${['Member', 'Roles', 'Events', 'Checked']}>${members.rows.map((one) =>
        drawMember(one, may('tryCheck') && tryOf(one, watch.ruleSet, base)),
      )}<//>
    <//><//>
  `,
  );
}

function drawEvent({ eventId, at, delivery, event }: WatchEvent, base) {
  const body = event as unknown as Event;
  const change: Partial<RolesChanged> = body.type === 'roles.changed' ? body : {};
  const { ref, account, accounts = [], sequence, cause, transfer } = change;
  const name = ref ?? account ?? '';
  const roles = summariseRoles(body);
  return html`<li key=${eventId}>
    <div class="grow">
      <p class="row-title">${
        body.type === 'roles.changed'
          ? html`<a class="break" href=${queryOfMember(name)}>${name}</a>`
          : html`<code>${body.type}</code>`
      }</p>
      ${ref && html`<p class="sub mono break">${account ?? accounts.join(', ')}</p>`}
      <${Why} details=${change.details} blocks=${change.blockNumbers} />
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

/** The page that checks a member by the rule set of the watch, with the amounts that are compared. */
function tryOf({ account, accounts, vaults }: Member, ruleSet, base) {
  const wallets = accounts ? { accounts } : { account };
  const fragment = fragmentOf({ ...wallets, ...(vaults && { vaults }), explain: true, ruleSet });
  return fragment && `${base}/try${fragment}`;
}

function drawMember(
  { account, accounts = [], ref, roles, pending = [], errors, sequence, checkedAt, blockNumbers }: Member,
  tryPath: string | false | undefined,
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

const describeBlocks = (blockNumbers: Record<string, number>) =>
  Object.entries(blockNumbers).map(
    ([chainId, number]) =>
      html`<div class="sub" key=${chainId}>block ${formatCount(number)} of chain ${chainId}</div>`,
  );
