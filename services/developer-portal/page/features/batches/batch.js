import { formatCount, formatMs, formatPlural, formatShare } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useProgress } from '../../lib/use-progress.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Card, Loaded, Time } from '../../ui/states.js';
import { StateBadge } from '../deliveries/deliveries.js';
import { Missing } from '../frame/missing.js';
import { NotAllowed } from '../frame/not-allowed.js';
import { BatchBadge, NEW } from './batches.js';
import { StartBatch } from './start-batch.js';
import { UnreadEntries } from './unread-entries.js';

const isCompleted = ({ status }) => status === 'completed';
const hasEnded = ({ status }) => status !== 'pending';

/** One batch: new, running or ended. */
export function Batch({ item }) {
  const { may } = useApp();
  if (item !== NEW) return html`<${Started} id=${item} />`;
  return may('startBatch') ? html`<${StartBatch} />` : html`<${NotAllowed} title="Start a batch" />`;
}

function Started({ id }) {
  const { api, base } = useApp();
  const path = `${api}/batches/${encodeURIComponent(id)}`;
  const batch = useProgress(path, hasEnded);
  if (batch.error?.status === 404) return html`<${Missing} />`;
  return html`
    <p class="crumbs"><a href=${`${base}/batches`}>← Batches</a></p>
    <${PageHead} title="Batch"><p class="sub mono break">${id}</p><//>
    <${Loaded} resource=${batch}>${(value) => html`
      <${Card}>
        <${Progress} ...${value} />
        ${
          value.status === 'abandoned' &&
          html`<p class="notice warn">Not all entries reached the broker. Those without a result are not charged: start the batch again.</p>`
        }
        <${Facts} batch=${value} base=${base} />
      <//>
      <${Roles} roles=${value.roles} done=${value.done} />
      ${isCompleted(value) && html`<${Results} path=${path} />`}
      ${
        isCompleted(value) &&
        value.roles.some(({ undetermined }) => undetermined > 0) &&
        html`<${UnreadEntries} path=${path} />`
      }
    `}<//>
  `;
}

function Progress({ status, done, entries }) {
  const text = `${formatCount(done)} of ${formatPlural(entries, 'entry', 'entries')} done`;
  return html`
    <div class="meter" role="progressbar" aria-label="Progress" aria-valuemin="0" aria-valuemax=${entries}
      aria-valuenow=${done} aria-valuetext=${text}><div style=${{ width: `${(done / entries) * 100}%` }}></div></div>
    <p class="inline spread"><span>${text}</span><span role="status"><${BatchBadge} status=${status} /></span></p>
  `;
}

const Facts = ({
  batch: { requestId, acceptedAt, completedAt, ruleSet, delivery },
  base,
}) => html`<dl class="facts-list">
  <div><dt>Rules</dt><dd>${
    ruleSet
      ? html`<a class="break" href=${`${base}/rule-sets/${encodeURIComponent(ruleSet.id)}`}>${ruleSet.id}</a> <${Badge}>Version ${ruleSet.version}<//>`
      : 'Sent with the batch'
  }</dd></div>
  <div><dt>Started</dt><dd><${Time} at=${acceptedAt} /></dd></div>
  ${
    completedAt &&
    html`<div><dt>Took</dt><dd>${formatMs(Math.max(0, Date.parse(completedAt) - Date.parse(acceptedAt)))}</dd></div>`
  }
  ${
    delivery &&
    html`<div><dt>Webhook</dt><dd><a href=${`${base}/webhooks/${encodeURIComponent(requestId)}`}>Attempts</a> <${StateBadge} state=${delivery.state} /></dd></div>`
  }
</dl>`;

/** How many members hold each role. A role that could not be read never counts as not granted. */
const Roles = ({ roles, done }) => html`<${Card} title="Roles">
  <div class="scroll" tabindex="0" role="region" aria-label="Roles"><table>
    <thead><tr><th scope="col">Role</th><th scope="col">Granted</th><th scope="col">Not granted</th>
      <th scope="col">Undetermined</th></tr></thead>
    <tbody>${roles.map(
      ({ id, granted, denied, undetermined }) => html`<tr key=${id}>
        <th scope="row" class="break">${id}</th>
        <td class="granted">${formatCount(granted)}${done > 0 && ` (${formatShare(granted / done)})`}</td>
        <td>${formatCount(denied)}</td>
        <td class=${undetermined > 0 ? 'undetermined' : ''}>${formatCount(undetermined)}</td>
      </tr>`,
    )}</tbody></table></div>
  ${roles.length === 0 && html`<p class="sub">The counts appear with the first entries.</p>`}
<//>`;

const Results = ({ path }) => html`<${Card} title="Results">
  <p class="prose">One line per entry, in the order in which they were sent.</p>
  <div class="inline">
    <a class="button" href=${`${path}/results?format=csv`} download>Download CSV</a>
    <a class="button" href=${`${path}/results?format=ndjson`} download>Download NDJSON</a>
  </div>
<//>`;
