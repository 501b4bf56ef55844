import { formatCount, formatPlural } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { useQuery } from '../../lib/router.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Card, Empty, Loaded, Time } from '../../ui/states.js';

/** In the address of a batch that is to be started: no batch can have this id. */
export const NEW = '-new';

const STATES = {
  pending: ['warn', 'Running'],
  completed: ['good', 'Completed'],
  abandoned: ['bad', 'Abandoned'],
};

export const BatchBadge = ({ status }) => {
  const [tone, text] = STATES[status] ?? ['quiet', status];
  return html`<${Badge} tone=${tone}>${text}<//>`;
};

/** The newest batches of the app whose results are kept. */
export function Batches() {
  const { api, base, may } = useApp();
  const [{ before }, setQuery] = useQuery({ before: '' });
  const resource = useResource(`${api}/batches${before ? `?before=${encodeURIComponent(before)}` : ''}`);
  return html`
    <${PageHead} title="Batches" aside=${html`<button type="button" onClick=${resource.reload}>Refresh</button>
        ${may('startBatch') && html`<a class="button primary" href=${`${base}/batches/${NEW}`}>Start a batch</a>`}`}>
      <p class="sub">A batch judges one rule set for many wallets in one request.</p>
    <//>
    <${Card}><${Loaded} resource=${resource}>${({ batches, next }) => html`
      ${
        batches.length === 0
          ? html`<${Empty} title="No batches"><p>Paste a list of addresses, or choose a CSV file, to check a whole community.
              A batch is listed until its results expire.</p><//>`
          : html`<ul class="rows">${batches.map((batch) => html`<${Row} key=${batch.requestId} batch=${batch} base=${base} />`)}</ul>`
      }
      <div class="actions">
        ${before && html`<button type="button" onClick=${() => setQuery({ before: '' })}>First page</button>`}
        ${next && html`<button type="button" onClick=${() => setQuery({ before: next })}>Next page</button>`}
      </div>
    `}<//><//>
  `;
}

const Row = ({ batch: { requestId, status, entries, done, acceptedAt, ruleSet }, base }) => html`<li>
  <div class="grow">
    <p class="row-title mono break"><a href=${`${base}/batches/${encodeURIComponent(requestId)}`}>${requestId}</a></p>
    <p class="sub break">${
      status === 'completed'
        ? formatPlural(entries, 'entry', 'entries')
        : `${formatCount(done)} of ${formatPlural(entries, 'entry', 'entries')} done`
    } · ${ruleSet ? `${ruleSet.id}, version ${ruleSet.version} · ` : ''}started <${Time} at=${acceptedAt} /></p>
  </div>
  <div class="badges"><${BatchBadge} status=${status} /></div>
</li>`;
