import { ask } from '../../lib/api.js';
import { formatMs, formatPlural } from '../../lib/format.js';
import { html, useEffect, useState } from '../../lib/html.js';
import { useQuery } from '../../lib/router.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { Field } from '../../ui/field.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Card, Empty, Loaded, Time } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';
import { wordsOfAttempt } from './attempt-words.js';
import { ResendFailed } from './resend-failed.js';
import { SigningSecret } from './signing-secret.js';
import { TestEvent } from './test-event.js';

const PAGE_COUNT = 25;

export const STATES = {
  pending: ['warn', 'Pending'],
  delivered: ['good', 'Delivered'],
  exhausted: ['bad', 'Given up'],
  stopped: ['bad', 'Stopped by 410'],
};
export const StateBadge = ({ state }) => {
  const [tone, text] = STATES[state] ?? ['quiet', state];
  return html`<${Badge} tone=${tone}>${text}<//>`;
};

/** Webhooks: the secret that signs them, a test event, and every delivery. */
export function Deliveries() {
  const { may } = useApp();
  const [filters, setFilters] = useQuery({ state: '', since: '' });
  const [round, setRound] = useState(0);
  const [isResending, setIsResending] = useState(false);
  const reload = () => setRound((last) => last + 1);
  const change = (name) => (event) => setFilters({ [name]: event.target.value });
  return html`
    <${PageHead} title="Webhooks">
      <p class="sub">Results are sent by POST to the <code>callbackUrl</code> of a check. Failed attempts are repeated for up to 40 hours.</p>
    <//>
    <div class=${may('sendTestEvent') ? 'two' : ''}><${SigningSecret} />${may('sendTestEvent') && html`<${TestEvent} onSent=${reload} />`}</div>
    <${Card} title="Deliveries" class="deliveries" aside=${html`<div class="inline">
        <button type="button" onClick=${reload}>Refresh</button>
        ${may('resendFailed') && html`<button type="button" onClick=${() => setIsResending(true)}>Resend failed…</button>`}</div>`}>
      <div class="filters">
        <${Field} label="State" as="select" name="state" value=${filters.state} onChange=${change('state')}>
          <option value="">All</option>
          ${Object.entries(STATES).map(([value, [, text]]) => html`<option value=${value}>${text}</option>`)}
        <//>
        <${Field} label="Since" type="datetime-local" name="since" required value=${filters.since} onChange=${change('since')} />
      </div>
      <${DeliveryPages} key=${`${round}/${filters.state}/${filters.since}`} filters=${filters} />
    <//>
    ${
      isResending &&
      html`<${ResendFailed} onClose=${() => setIsResending(false)} onDone=${(count) => {
        setIsResending(false);
        toast(
          count === 0
            ? 'No failed delivery since then'
            : `${formatPlural(count, 'delivery', 'deliveries')} will be sent again`,
        );
        reload();
      }} />`
    }
  `;
}

function queryOf({ state, since }, before) {
  const query = new URLSearchParams({ limit: String(PAGE_COUNT) });
  if (state) query.set('state', state);
  if (since && !Number.isNaN(Date.parse(since))) query.set('since', new Date(since).toISOString());
  if (before) query.set('before', before);
  return query;
}

/** Pages of the list, each after the one before when it is requested. */
function DeliveryPages({ filters }) {
  const { api, base } = useApp();
  const first = useResource(`${api}/deliveries?${queryOf(filters)}`);
  const [more, setMore] = useState({ deliveries: [], next: undefined });
  useEffect(() => setMore({ deliveries: [], next: first.value?.next }), [first.value]);
  const readMore = async () => {
    try {
      const page = await ask('GET', `${api}/deliveries?${queryOf(filters, more.next)}`);
      setMore({ deliveries: [...more.deliveries, ...page.deliveries], next: page.next });
    } catch (error) {
      toast(error.message, 'bad');
    }
  };
  return html`<${Loaded} resource=${first}>${({ deliveries }) => {
    const all = [...deliveries, ...more.deliveries];
    if (all.length === 0)
      return html`<${Empty} title="No deliveries"><p>${
        filters.state || filters.since
          ? 'None matches these filters.'
          : 'Give a check a callbackUrl, or send a test event, and it appears here.'
      }</p><//>`;
    return html`<ul class="rows inner">${all.map((one) => html`<${Row} key=${one.requestId} data=${one} base=${base} />`)}</ul>
      ${more.next && html`<div class="actions"><button type="button" onClick=${readMore}>Show more</button></div>`}`;
  }}<//>`;
}

const Row = ({ data, base }) => {
  const { requestId, state, callbackUrl, attempts, lastAttempt } = data;
  return html`<li>
    <div class="grow">
      <a class="row-link mono" href=${`${base}/webhooks/${encodeURIComponent(requestId)}${location.search}`}>${requestId}</a>
      <p class="sub clip" title=${callbackUrl}>${callbackUrl}</p>
    </div>
    <div class="badges"><${StateBadge} state=${state} /></div>
    <p class="sub facts">
      <span>${formatPlural(attempts, 'attempt')}</span>
      ${
        lastAttempt &&
        html`<span>${wordsOfAttempt(lastAttempt)} in ${formatMs(lastAttempt.durationMs)}</span>
          <span><${Time} at=${lastAttempt.at} /></span>`
      }
    </p>
  </li>`;
};
