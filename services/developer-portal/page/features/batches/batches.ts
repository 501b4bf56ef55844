import { type Answer, addressOf } from '../../lib/api.ts';
import { formatCount, formatMs, formatPlural, formatShare } from '../../lib/format.ts';
import { html } from '../../lib/html.ts';
import { usePages, useResource } from '../../lib/resources.ts';
import { useApp } from '../../lib/session.ts';
import { foldRoles } from '../../snippets/fold-roles.mjs';
import { Card, Crumb, Empty, loadedPage, Paged, PageHead, refreshButton } from '../../ui/page.ts';
import { Badge, Facts, StateBadge, Table, Time } from '../../ui/values.ts';
import { adviceOf, DeliveryLink } from '../checks/checks.ts';
import { NEW } from '../frame/path-parts.ts';
import { roleIdsOf } from '../try/describe-detail.ts';
import { Why } from '../try/why.ts';

type BatchAnswer = Answer<'GET /api/apps/:clientId/batches/:requestId'>;

const entriesOf = (count) => formatPlural(count, 'entry', 'entries');

export function Batches() {
  const { clientId, base, may } = useApp();
  const pages = usePages('GET /api/apps/:clientId/batches', { clientId }, 'batches');
  return html`
    <${PageHead} title="Batches" aside=${html`${refreshButton(pages.first)}
        ${may('startBatch') && html`<a class="button primary" href=${`${base}/batches/${NEW}`}>Start a batch</a>`}`}>
      <p class="sub">A batch judges one rule set for many wallets in one request.</p>
    <//>
    <${Card}><${Paged} of=${pages} empty=${html`<${Empty} title="No batches"><p>Paste a list of addresses, or choose a CSV file, to check a whole community.
          A batch is listed until its results expire.</p><//>`}><ul class="rows">${pages.rows.map(
      ({ requestId, status, entries, done, acceptedAt, ruleSet }) => html`<li key=${requestId}>
          <div class="grow">
            <p class="row-title mono break"><a href=${`${base}/batches/${encodeURIComponent(requestId)}`}>${requestId}</a></p>
            <p class="sub break">${status === 'completed' ? entriesOf(entries) : `${formatCount(done)} of ${entriesOf(entries)} done`} · ${ruleSet && `${ruleSet.id}, version ${ruleSet.version} · `}started <${Time} at=${acceptedAt} /></p>
          </div>
          <div class="badges"><${StateBadge} of="batch" state=${status} /></div>
        </li>`,
    )}</ul><//><//>
  `;
}

export function Batch({ item: id }) {
  const { clientId, base } = useApp();
  const params = { clientId, requestId: id };
  const batch = useBatch(params);
  return loadedPage(batch, 'Batch', (value) => {
    const { status, acceptedAt, completedAt, ruleSet, delivery, roles } = value;
    const rules = ruleSet
      ? html`<a class="break" href=${`${base}/rule-sets/${encodeURIComponent(ruleSet.id)}`}>${ruleSet.id}</a> <${Badge}>Version ${ruleSet.version}<//>`
      : 'Sent with the batch';
    const webhook = delivery && html`<${DeliveryLink} requestId=${id} state=${delivery.state} />`;
    return html`
      <${Crumb} base=${base} section="batches" name="Batches" />
      <${PageHead} title="Batch"><p class="sub mono break">${id}</p><//>
      <${Card}>
        <${Progress} ...${value} />
        ${status === 'abandoned' && html`<p class="notice warn">Not all entries reached the broker. Those without a result are not charged: start the batch again.</p>`}
        <${Facts} pairs=${[
          ['Rules', rules],
          ['Started', html`<${Time} at=${acceptedAt} />`],
          ['Took', completedAt && formatMs(Math.max(0, Date.parse(completedAt) - Date.parse(acceptedAt)))],
          ['Webhook', webhook],
        ]} />
      <//>
      <${Roles} roles=${roles} done=${value.done} />
      ${status === 'completed' && html`<${Results} params=${params} /><${EntryLists} params=${params} roles=${roles} />`}`;
  });
}

export function Progress({ status, done, entries }: BatchAnswer) {
  const text = `${formatCount(done)} of ${entriesOf(entries)} done`;
  return html`
    <div class="meter" role="progressbar" aria-label="Progress" aria-valuemin="0" aria-valuemax=${entries}
      aria-valuenow=${done} aria-valuetext=${text}><div style=${{ width: `${(done / entries) * 100}%` }}></div></div>
    <p class="inline spread"><span>${text}</span><span role="status"><${StateBadge} of="batch" state=${status} /></span></p>
  `;
}

export const useBatch = (params: { clientId: string; requestId: string }) =>
  useResource('GET /api/apps/:clientId/batches/:requestId', params, {}, ({ status }) => status !== 'pending');

/** How many members hold each role. A role that could not be read never counts as not granted. */
const Roles = ({ roles, done }: { roles: BatchAnswer['roles']; done: number }) => html`<${Card} title="Roles">
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

type Entry = Answer<'GET /api/apps/:clientId/batches/:requestId/entries'>['entries'][number];

const TITLES = {
  all: 'Entries',
  unread: 'Could not be read',
  gained: 'Would gain a role',
  lost: 'Would lose a role',
} as const;

/** The entries of a finished batch: of a preview who would lose or gain a role; whose role could not be
 * read; and else all. `rules` are those that were sent, if they are known. */
export function EntryLists({ params, roles, rules }) {
  const has = (count) => roles.some((role) => role[count] > 0);
  const lists = [
    has('lost') && 'lost',
    has('gained') && 'gained',
    has('undetermined') && 'unread',
    !isPreview({ roles }) && 'all',
  ];
  return lists
    .filter(Boolean)
    .map((of) => html`<${Entries} key=${of} params=${params} of=${of} rules=${rules} />`);
}

function Entries({ params, of, rules }) {
  const call = 'GET /api/apps/:clientId/batches/:requestId/entries';
  const pages = usePages(call, params, 'entries', { of });
  return html`<${Card} title=${TITLES[of]}><${Paged} of=${pages} empty=${html`<${Empty} title="Nobody" />`}><ul class="rows inner">${pages.rows.map((entry) => drawEntry(entry, rules))}</ul><//><//>`;
}

function drawEntry(entry: Entry, rules) {
  const {
    index,
    account,
    accounts = [],
    ref: id,
    roles,
    errors,
    details,
    blockNumbers,
    changes = [],
  } = entry;
  const isChange = changes.length > 0;
  const [yes, no, lost] = isChange ? ['gains', 'loses', 'bad'] : ['has', 'lacks', 'quiet'];
  const verdicts: (readonly [string, boolean | undefined])[] = isChange
    ? changes.map(({ id: role, granted }) => [role, granted])
    : [...foldRoles({ roles, errors })];
  const wallets = account ?? accounts.join(', ');
  return html`<li key=${index}>
    <div class="grow">
      <p class="row-title break">${id ?? html`<code>${wallets}</code>`}</p>
      ${id && html`<p class="sub"><code class="break">${wallets}</code></p>`}
      <${Why} details=${details} rules=${rules} roleIds=${roleIdsOf(entry)} blocks=${blockNumbers} />
      ${errors.map(
        ({ roleId, message, retryable }, place) =>
          html`<p class="sub" key=${place}>${roleId && html`Role <code>${roleId}</code>: `}${message} ${adviceOf(retryable)}</p>`,
      )}
    </div>
    <div class="badges">
      ${verdicts.map(([role, isHeld], place) => {
        const [tone, verb] = isHeld === undefined ? ['warn', 'unknown'] : isHeld ? ['good', yes] : [lost, no];
        return html`<${Badge} key=${place} tone=${tone}>${verb} ${role}<//>`;
      })}
      ${[...new Set(errors.map(({ code }) => code))].map((code) => html`<${Badge} key=${code} tone="warn">${code}<//>`)}
    </div>
  </li>`;
}

export const Changes = ({ roles }: { roles: BatchAnswer['roles'] }) =>
  html`<${Table} label="Changes" heads=${['Role', '#Would gain it', '#Would lose it', '#Could not be read']}>${roles.map(
    ({ id, gained = 0, lost = 0, undetermined }) => html`<tr key=${id}>
    <th scope="row" class="break">${id}</th>
    <td class=${`number ${gained > 0 ? 'granted' : ''}`}>${formatCount(gained)}</td>
    <td class=${`number ${lost > 0 ? 'lost' : ''}`}>${formatCount(lost)}</td>
    <td class=${`number ${undetermined > 0 ? 'undetermined' : ''}`}>${formatCount(undetermined)}</td>
  </tr>`,
  )}<//>`;

/** Whether a batch previews what would change for the members of a watch. */
export const isPreview = ({ roles }: { roles: BatchAnswer['roles'] }) =>
  roles.some(({ gained }) => gained !== undefined);
