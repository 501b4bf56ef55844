import { ask } from '../../lib/api.js';
import { formatMs } from '../../lib/format.js';
import { html, useEffect, useState } from '../../lib/html.js';
import { useQuery } from '../../lib/router.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { Field } from '../../ui/field.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Card, Empty, Loaded, Time } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';

const PAGE_COUNT = 25;
const FILTERS = { requestId: '', roleId: '', keyId: '', mode: '', status: '', outcome: '', since: '' };
const CHOICES = {
  mode: ['sync', 'poll', 'webhook'],
  status: ['completed', 'failed'],
  outcome: ['granted', 'denied', 'undetermined'],
};

const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const StatusBadge = ({ status }) =>
  html`<${Badge} tone=${status === 'completed' ? 'good' : 'bad'}>${capitalised(status)}<//>`;

/** A key as people know it: its name may be that of another. */
export const nameOfKey = ({ name, lastFour }) => `${name} (…${lastFour})`;

/** How many rules ended how; outcomes without a rule are left out. */
export const Outcomes = ({ check }) =>
  html`${CHOICES.outcome
    .filter((outcome) => check[outcome] > 0)
    .map((outcome) => html`<span key=${outcome}>${check[outcome]} ${outcome}</span>`)}`;

/** The newest checks of the app, with filters that stay in the address. */
export function Checks() {
  const { app } = useApp();
  const [filters, setFilters] = useQuery(FILTERS);
  const [round, setRound] = useState(0);
  const change = (name) => (event) => setFilters({ [name]: event.target.value });
  const choice = (
    name,
  ) => html`<${Field} label=${capitalised(name)} as="select" name=${name} value=${filters[name]} onChange=${change(name)}>
      <option value="">All</option>
      ${CHOICES[name].map((value) => html`<option key=${value} value=${value}>${capitalised(value)}</option>`)}
    <//>`;
  return html`
    <${PageHead} title="Checks" aside=${html`<button type="button" onClick=${() => setRound(round + 1)}>Refresh</button>`}>
      <p class="sub">The newest 1 000 checks of this app. A check appears once it has a result. The role filter
      searches the first 32 roles of a check.</p>
    <//>
    <${Card}>
      <div class="filters">
        <${Field} label="Request id" name="requestId" maxlength="64" value=${filters.requestId} onChange=${change('requestId')} />
        <${Field} label="Role id" name="roleId" maxlength="128" value=${filters.roleId} onChange=${change('roleId')} />
        <${Field} label="API key" as="select" name="keyId" value=${filters.keyId} onChange=${change('keyId')}>
          <option value="">All</option>
          ${app.keys.map((key) => html`<option key=${key.keyId} value=${key.keyId}>${nameOfKey(key)}</option>`)}
        <//>
        ${Object.keys(CHOICES).map(choice)}
        <${Field} label="Since" type="datetime-local" name="since" value=${filters.since} onChange=${change('since')} />
      </div>
      <${CheckPages} key=${`${round}/${Object.values(filters).join('/')}`} filters=${filters} />
    <//>
  `;
}

function queryOf({ since, ...filters }, before) {
  const query = new URLSearchParams({ limit: String(PAGE_COUNT) });
  for (const [name, value] of Object.entries(filters)) if (value) query.set(name, value.trim());
  if (since && !Number.isNaN(Date.parse(since))) query.set('since', new Date(since).toISOString());
  if (before) query.set('before', before);
  return query;
}

/** Pages of the list, each after the one before when it is requested. */
function CheckPages({ filters }) {
  const { api, base, may } = useApp();
  const first = useResource(`${api}/checks?${queryOf(filters)}`);
  const [more, setMore] = useState({ checks: [], next: undefined });
  useEffect(() => setMore({ checks: [], next: first.value?.next }), [first.value]);
  const readMore = async () => {
    try {
      const page = await ask('GET', `${api}/checks?${queryOf(filters, more.next)}`);
      setMore({ checks: [...more.checks, ...page.checks], next: page.next });
    } catch (error) {
      toast(error.message, 'bad');
    }
  };
  return html`<${Loaded} resource=${first}>${({ checks }) => {
    const all = [...checks, ...more.checks];
    if (all.length === 0)
      return html`<${Empty} title="No checks"><p>${
        Object.values(filters).some(Boolean)
          ? 'None matches these filters.'
          : html`Send a check with one of the app's keys${may('tryCheck') && html`, or <a href=${`${base}/try`}>try one here</a>`}.`
      }</p><//>`;
    return html`<ul class="rows inner">${all.map((check) => html`<${Row} key=${check.requestId} check=${check} base=${base} />`)}</ul>
      ${more.next && html`<div class="actions"><button type="button" onClick=${readMore}>Show more</button></div>`}`;
  }}<//>`;
}

const Row = ({ check, base }) => html`<li>
  <div class="grow">
    <a class="row-link mono" href=${`${base}/checks/${encodeURIComponent(check.requestId)}${location.search}`}>${check.requestId}</a>
    <p class="sub facts"><span>${check.mode}</span><${Outcomes} check=${check} />${check.codes.map((code) => html`<code key=${code}>${code}</code>`)}</p>
  </div>
  <div class="badges"><${StatusBadge} status=${check.status} /></div>
  <p class="sub facts"><span>${formatMs(check.durationMs)}</span><span><${Time} at=${check.acceptedAt} /></span></p>
</li>`;
