import { addressOf } from '../../lib/api.js';
import { formatCount, formatMs, formatPlural, formatShare } from '../../lib/format.js';
import { html, when } from '../../lib/html.js';
import { usePages, useResource } from '../../lib/resources.js';
import { useApp } from '../../lib/session.js';
import { Card, Crumb, Empty, loaded, PageHead, refreshButton } from '../../ui/page.js';
import { Badge, Facts, pagedRows, StateBadge, Table, Time } from '../../ui/values.js';
import { DeliveryLink } from '../checks/check.js';
import { Missing, NotAllowed } from '../frame/frame.js';
import { Changes, Entries, isPreview } from './entries.js';
import { StartBatch } from './start-batch.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @typedef {Answer<'GET /api/apps/:clientId/batches/:requestId'>} Batch */

/** In the address of a batch that is to be started: no batch can have this id. */
const NEW = '-new';

const entriesOf = (count) => formatPlural(count, 'entry', 'entries');

/** The newest batches of the app whose results are kept. */
export function Batches() {
  const { clientId, base, may } = useApp();
  const pages = usePages('GET /api/apps/:clientId/batches', { clientId }, 'batches', 'before');
  return html`
    <${PageHead} title="Batches" aside=${html`${refreshButton(pages.first)}
        ${may('startBatch') && html`<a class="button primary" href=${`${base}/batches/${NEW}`}>Start a batch</a>`}`}>
      <p class="sub">A batch judges one rule set for many wallets in one request.</p>
    <//>
    <${Card}>${pagedRows(
      pages,
      html`<${Empty} title="No batches"><p>Paste a list of addresses, or choose a CSV file, to check a whole community.
          A batch is listed until its results expire.</p><//>`,
      ({ requestId, status, entries, done, acceptedAt, ruleSet }) => html`<li key=${requestId}>
          <div class="grow">
            <p class="row-title mono break"><a href=${`${base}/batches/${encodeURIComponent(requestId)}`}>${requestId}</a></p>
            <p class="sub break">${status === 'completed' ? entriesOf(entries) : `${formatCount(done)} of ${entriesOf(entries)} done`} · ${ruleSet && `${ruleSet.id}, version ${ruleSet.version} · `}started <${Time} at=${acceptedAt} /></p>
          </div>
          <div class="badges"><${StateBadge} of="batch" state=${status} /></div>
        </li>`,
    )}<//>
  `;
}

/** One batch: new, running or ended. */
export function Batch({ item }) {
  const { may } = useApp();
  if (item !== NEW) return html`<${Started} id=${item} />`;
  return may('startBatch') ? html`<${StartBatch} />` : html`<${NotAllowed} title="Start a batch" />`;
}

function Started({ id }) {
  const { clientId, base } = useApp();
  const params = { clientId, requestId: id };
  const batch = useResource(
    'GET /api/apps/:clientId/batches/:requestId',
    params,
    {},
    ({ status }) => status !== 'pending',
  );
  if (batch.error?.status === 404) return html`<${Missing} />`;
  return html`
    <${Crumb} base=${base} section="batches" name="Batches" />
    <${PageHead} title="Batch"><p class="sub mono break">${id}</p><//>
    ${loaded(batch, (value) => {
      const { status, acceptedAt, completedAt, ruleSet, delivery, roles } = value;
      const isCompleted = status === 'completed';
      return html`
      <${Card}>
        <${Progress} ...${value} />
        ${
          status === 'abandoned' &&
          html`<p class="notice warn">Not all entries reached the broker. Those without a result are not charged: start the batch again.</p>`
        }
        <${Facts} pairs=${[
          [
            'Rules',
            ruleSet
              ? html`<a class="break" href=${`${base}/rule-sets/${encodeURIComponent(ruleSet.id)}`}>${ruleSet.id}</a> <${Badge}>Version ${ruleSet.version}<//>`
              : 'Sent with the batch',
          ],
          ['Started', html`<${Time} at=${acceptedAt} />`],
          ['Took', completedAt && formatMs(Math.max(0, Date.parse(completedAt) - Date.parse(acceptedAt)))],
          [
            'Webhook',
            when(delivery, ({ state }) => html`<${DeliveryLink} requestId=${id} state=${state} />`),
          ],
        ]} />
      <//>
      <${Roles} roles=${roles} done=${value.done} />
      ${isCompleted && html`<${Results} params=${params} />`}
      ${isCompleted && isPreview(value) && ['lost', 'gained'].map((of) => html`<${Entries} key=${of} params=${params} of=${of} />`)}
      ${isCompleted && roles.some(({ undetermined }) => undetermined > 0) && html`<${Entries} params=${params} of="unread" />`}
      ${isCompleted && !isPreview(value) && html`<${Entries} params=${params} of="all" />`}`;
    })}
  `;
}

/** @param {Batch} props */
export function Progress({ status, done, entries }) {
  const text = `${formatCount(done)} of ${entriesOf(entries)} done`;
  return html`
    <div class="meter" role="progressbar" aria-label="Progress" aria-valuemin="0" aria-valuemax=${entries}
      aria-valuenow=${done} aria-valuetext=${text}><div style=${{ width: `${(done / entries) * 100}%` }}></div></div>
    <p class="inline spread"><span>${text}</span><span role="status"><${StateBadge} of="batch" state=${status} /></span></p>
  `;
}

/**
 * How many members hold each role. A role that could not be read never counts as not granted.
 * @param {{ roles: Batch['roles'], done: number }} props
 */
const Roles = ({ roles, done }) => html`<${Card} title="Roles">
  <${Table} label="Roles" heads=${['Role', 'Granted', 'Not granted', 'Undetermined']}>${roles.map(
    ({ id, granted, denied, undetermined }) => html`<tr key=${id}>
      <th scope="row" class="break">${id}</th>
      <td class="granted">${formatCount(granted)}${done > 0 && ` (${formatShare(granted / done)})`}</td>
      <td>${formatCount(denied)}</td>
      <td class=${undetermined > 0 ? 'undetermined' : ''}>${formatCount(undetermined)}</td>
    </tr>`,
  )}<//>
  ${roles.length === 0 && html`<p class="sub">The counts appear with the first entries.</p>`}
<//>
${isPreview({ roles }) && html`<${Card} title="What would change"><${Changes} roles=${roles} /><//>`}`;

function Results({ params }) {
  const link = (format) => {
    const href = addressOf('GET /api/apps/:clientId/batches/:requestId/results', params, { format });
    return html`<a class="button" href=${href} download>Download ${format.toUpperCase()}</a>`;
  };
  return html`<${Card} title="Results">
    <p class="prose">One line per entry, in the order in which they were sent.</p>
    <div class="inline">${link('csv')} ${link('ndjson')}</div>
  <//>`;
}
