import { formatCount } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { usePages } from '../../lib/resources.js';
import { Card, Empty } from '../../ui/page.js';
import { Badge, pagedRows, Table } from '../../ui/values.js';
import { adviceOf } from '../checks/check.js';
import { roleIdsOf } from '../try/describe-detail.js';
import { Why } from '../try/why.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @typedef {Answer<'GET /api/apps/:clientId/batches/:requestId/entries'>['entries'][number]} Entry */
/** @typedef {Answer<'GET /api/apps/:clientId/batches/:requestId'>} Batch */

/** What the lists are called. */
const TITLES = /** @type {const} */ ({
  all: 'Entries',
  unread: 'Could not be read',
  gained: 'Would gain a role',
  lost: 'Would lose a role',
});

/**
 * Entries of a finished batch by name, the first of them at once, each with the reasons.
 * @param {{ params: { clientId: string, requestId: string }, of: keyof typeof TITLES, rules?:
 *   readonly any[] }} props the rules as they were sent, if they are known
 */
export function Entries({ params, of, rules }) {
  const call = 'GET /api/apps/:clientId/batches/:requestId/entries';
  const pages = usePages(call, params, 'entries', 'from', { of });
  return html`<${Card} title=${TITLES[of]}>${pagedRows(pages, html`<${Empty} title="Nobody" />`, (entry) => drawEntry(entry, rules), 'inner')}<//>`;
}

/** @param {Entry} entry @param {readonly any[] | undefined} rules */
function drawEntry(entry, rules) {
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
  const wallets = account ?? accounts.join(', ');
  const shown = changes.length > 0 ? changes : roles;
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
      ${shown.map(({ id: role, granted }, place) => html`<${Badge} key=${place} tone=${toneOf(granted, changes.length > 0)}>${wordOf(granted, changes.length > 0)} ${role}<//>`)}
      ${[...new Set(errors.map(({ code }) => code))].map((code) => html`<${Badge} key=${code} tone="warn">${code}<//>`)}
    </div>
  </li>`;
}

const toneOf = (granted, isChange) => (granted ? 'good' : isChange ? 'bad' : 'quiet');
const wordOf = (granted, isChange) => {
  if (isChange) return granted ? 'gains' : 'loses';
  return granted ? 'has' : 'lacks';
};

/**
 * How many members of a previewed watch would gain and lose each role.
 * @param {{ roles: Batch['roles'] }} props
 */
export const Changes = ({ roles }) =>
  html`<${Table} label="Changes" heads=${['Role', '#Would gain it', '#Would lose it', '#Could not be read']}>${roles.map(
    ({ id, gained = 0, lost = 0, undetermined }) => html`<tr key=${id}>
    <th scope="row" class="break">${id}</th>
    <td class=${`number ${gained > 0 ? 'granted' : ''}`}>${formatCount(gained)}</td>
    <td class=${`number ${lost > 0 ? 'lost' : ''}`}>${formatCount(lost)}</td>
    <td class=${`number ${undetermined > 0 ? 'undetermined' : ''}`}>${formatCount(undetermined)}</td>
  </tr>`,
  )}<//>`;

/** Whether a batch previews what would change for the members of a watch. @param {{ roles:
 * Batch['roles'] }} batch */
export const isPreview = ({ roles }) => roles.some(({ gained }) => gained !== undefined);
