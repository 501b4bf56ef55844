import { ask } from '../../lib/api.js';
import { html, useEffect, useState } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { Confirm } from '../../ui/confirm.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Card, Empty, Loaded, Time } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';
import { Missing } from '../frame/missing.js';
import { queryOfMember, WatchEvents } from './watch-events.js';
import { WatchBadge } from './watches.js';

const PAGE_COUNT = 50;

/** One watch: its held revocations, its events, how its contracts are followed, and its members. */
export function Watch({ item }) {
  const { api, may } = useApp();
  const path = `${api}/watches/${encodeURIComponent(item)}`;
  const resource = useResource(path);
  const [isReleasing, setIsReleasing] = useState(false);
  const [round, setRound] = useState(0);
  const refresh = () => {
    setRound(round + 1);
    resource.reload();
  };
  if (resource.error?.status === 404) return html`<${Missing} />`;
  return html`<${Loaded} resource=${resource} title=${item}>${(watch) => html`
    <${PageHead} title=${watch.watchId} aside=${html`<button type="button" onClick=${refresh}>Refresh</button>`}>
      <p class="sub"><${WatchBadge} state=${watch.state} /> Rule set <code>${watch.ruleSet}</code>, checked every
        ${' '}${watch.everySeconds} s.</p>
    <//>
    ${watch.reason && html`<p class="notice">Paused: ${watch.reason}.</p>`}
    ${
      watch.held.length > 0 &&
      html`<${Card} title="Held revocations" aside=${
        may('releaseWatch') &&
        html`<button type="button" class="danger" onClick=${() => setIsReleasing(true)}>Release…</button>`
      }>
        <p>Too many members would have lost ${watch.held.length === 1 ? 'this role' : 'these roles'} at once:
          ${' '}${watch.held.map((id) => html`<code class="break" key=${id}>${id}</code> `)}</p>
      <//>`
    }
    <${WatchEvents} path=${path} round=${round} />
    <${Card} title="Contracts"><${Following} contracts=${watch.following} /><//>
    <${Card} title="Members"><${Members} path=${path} round=${round} /><//>
    ${
      isReleasing &&
      html`<${Confirm} title="Release the held revocations?" action="Release" send=${() => ask('POST', `${path}/release`)}
        onClose=${() => setIsReleasing(false)} onDone=${() => {
          setIsReleasing(false);
          toast('The held revocations are being sent');
          refresh();
        }}>
        <p>The receiver of this watch gets the revocations of these roles. If a provider answered wrong balances, wait for
          the next sweep instead: it drops every revocation that was wrong.</p>
      <//>`
    }
  `}<//>`;
}

const Following = ({ contracts }) =>
  contracts.length === 0
    ? html`<p>No contract is followed: members are checked by sweeps.</p>`
    : html`<div class="scroll" tabindex="0" role="region" aria-label="Contracts"><table>
        <thead><tr><th scope="col">Contract</th><th scope="col">Chain</th><th scope="col">Followed</th></tr></thead>
        <tbody>${contracts.map(
          ({ chainId, contractAddress, state, reason }) => html`<tr key=${`${chainId}/${contractAddress}`}>
            <td><code>${contractAddress}</code></td><td>${chainId}</td>
            <td><${Badge} tone=${state === 'live' ? 'good' : 'warn'}>${state === 'live' ? 'Live' : 'Sweeps only'}<//>
              ${reason && html` ${reason}`}</td>
          </tr>`,
        )}</tbody></table></div>`;

/** Pages of the members, each after the one before when it is requested. Read again in each `round`. */
function Members({ path, round }) {
  const first = useResource(`${path}/members?limit=${PAGE_COUNT}`);
  const [more, setMore] = useState({ members: [], next: undefined });
  useEffect(() => setMore({ members: [], next: first.value?.next }), [first.value]);
  useEffect(() => round > 0 && first.reload(), [round]);
  const readMore = async () => {
    try {
      const query = new URLSearchParams({ limit: String(PAGE_COUNT), after: more.next });
      const page = await ask('GET', `${path}/members?${query}`);
      setMore({ members: [...more.members, ...page.members], next: page.next });
    } catch (error) {
      toast(error.message, 'bad');
    }
  };
  return html`<${Loaded} resource=${first}>${({ members }) => {
    const all = [...members, ...more.members];
    if (all.length === 0) return html`<${Empty} title="No members yet" />`;
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Members"><table>
        <thead><tr><th scope="col">Member</th><th scope="col">Roles</th><th scope="col">Events</th>
          <th scope="col">Checked</th></tr></thead>
        <tbody>${all.map(
          ({ account, accounts, ref, roles, sequence, checkedAt }) => html`<tr key=${ref ?? account}>
            <td>${ref && html`${ref} `}<code>${account ?? accounts.join(', ')}</code></td>
            <td>${roles.map(
              ({ id, granted, since, revocationHeld }) => html`<div key=${id}>
                <${Badge} tone=${granted ? 'good' : 'quiet'}>${id}: ${granted ? 'granted' : 'denied'}<//> since
                ${' '}<${Time} at=${since} />${revocationHeld && ' (revocation held)'}</div>`,
            )}</td>
            <td>${
              sequence === 0
                ? '0'
                : html`<a href=${queryOfMember(ref ?? account)} aria-label=${`${sequence} of ${ref ?? account}`}>${sequence}</a>`
            }</td>
            <td>${checkedAt ? html`<${Time} at=${checkedAt} />` : 'not yet'}</td>
          </tr>`,
        )}</tbody></table></div>
      ${more.next && html`<button type="button" onClick=${readMore}>More</button>`}`;
  }}<//>`;
}
