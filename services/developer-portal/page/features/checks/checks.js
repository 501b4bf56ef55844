import { formatMs } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { usePages } from '../../lib/resources.js';
import { useQuery } from '../../lib/router.js';
import { useApp } from '../../lib/session.js';
import { FilterField, instantOf } from '../../ui/form.js';
import { Card, Empty, PageHead, refreshButton } from '../../ui/page.js';
import { pagedRows, STATES, StateBadge, Time } from '../../ui/values.js';
import { nameOfKey } from '../apps/keys.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @typedef {Answer<'GET /api/apps/:clientId/checks'>['checks'][number]} CheckSummary */

const FILTERS = { requestId: '', roleId: '', keyId: '', mode: '', status: '', outcome: '', since: '' };
const MODES = /** @type {const} */ ([
  ['sync', 'Sync'],
  ['poll', 'Poll'],
  ['webhook', 'Webhook'],
]);
const OUTCOMES = /** @type {const} */ ([
  ['granted', 'Granted'],
  ['denied', 'Denied'],
  ['undetermined', 'Undetermined'],
]);

/** How many rules ended how; outcomes without a rule are left out. @param {CheckSummary} check */
export const drawOutcomes = (check) =>
  OUTCOMES.filter(([outcome]) => check[outcome] > 0).map(
    ([outcome]) => html`<span key=${outcome}>${check[outcome]} ${outcome}</span>`,
  );

/** The newest checks of the app, with filters that stay in the address. */
export function Checks() {
  const { app, clientId, base, may } = useApp();
  const query = useQuery(FILTERS);
  const [filters] = query;
  const checks = usePages('GET /api/apps/:clientId/checks', { clientId }, 'checks', 'before', {
    ...filters,
    since: instantOf(filters.since),
  });
  const empty = html`<${Empty} title="No checks"><p>${
    Object.values(filters).some(Boolean)
      ? 'None matches these filters.'
      : html`Send a check with one of the app's keys${may('tryCheck') && html`, or <a href=${`${base}/try`}>try one here</a>`}.`
  }</p><//>`;
  return html`
    <${PageHead} title="Checks" aside=${refreshButton(checks.first)}>
      <p class="sub">The newest 1 000 checks of this app. A check appears once it has a result. The role filter
      searches the first 32 roles of a check.</p>
    <//>
    <${Card}>
      <div class="filters">
        <${FilterField} query=${query} label="Request id" name="requestId" maxlength="64" />
        <${FilterField} query=${query} label="Role id" name="roleId" maxlength="128" />
        <${FilterField} query=${query} label="API key" name="keyId" choices=${app.keys.map((key) => [key.keyId, nameOfKey(key)])} />
        <${FilterField} query=${query} label="Mode" name="mode" choices=${MODES} />
        <${FilterField} query=${query} label="Status" name="status" choices=${Object.entries(STATES.check).map(([value, [, text]]) => [value, text])} />
        <${FilterField} query=${query} label="Outcome" name="outcome" choices=${OUTCOMES} />
        <${FilterField} query=${query} label="Since" type="datetime-local" name="since" />
      </div>
      ${pagedRows(checks, empty, (check) => drawCheck(check, base), 'inner')}
    <//>
  `;
}

/** @param {CheckSummary} check */
const drawCheck = (check, base) => html`<li key=${check.requestId}>
  <div class="grow">
    <a class="row-link mono" href=${`${base}/checks/${encodeURIComponent(check.requestId)}${location.search}`}>${check.requestId}</a>
    <p class="sub facts"><span>${check.mode}</span>${drawOutcomes(check)}${check.codes.map((code) => html`<code key=${code}>${code}</code>`)}</p>
  </div>
  <div class="badges"><${StateBadge} of="check" state=${check.status} /></div>
  <p class="sub facts"><span>${formatMs(check.durationMs)}</span><span><${Time} at=${check.acceptedAt} /></span></p>
</li>`;
