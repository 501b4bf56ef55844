import { formatBytes, formatCount, formatMs, formatShare } from '../../lib/format.js';
import { html, when } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { useApp } from '../../lib/session.js';
import { Card, loaded, PageHead, refreshButton } from '../../ui/page.js';
import { rows, StateBadge, Table, Time } from '../../ui/values.js';
import { nameOfKey } from '../apps/keys.js';
import { UsageCharts } from './usage-charts.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @typedef {Answer<'GET /api/apps/:clientId/usage'>} Usage */

/** From this share of the quota on, the bar shows a warning. */
const NEARLY_USED = 0.8;
/** Why this figure and the charts differ. */
const CHARGED =
  'A check is not charged if it decided nothing and another try may succeed; the charts count it too.';
const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'long', timeZone: 'UTC' });

/** The app's state: the remaining steps of its set-up, the month, the last 30 days. */
export function Overview() {
  const usage = useResource('GET /api/apps/:clientId/usage', useApp());
  return html`
    <${PageHead} title="Overview" aside=${refreshButton(usage)} />
    ${loaded(usage, (value) => {
      const { today, totals, days, keys } = value;
      const isUnused = days.every(({ sync, poll, webhook }) => sync + poll + webhook === 0);
      const { undeterminedClient: client, undeterminedService: service } = totals;
      const causes =
        client + service === 0
          ? 'of all rules, last 30 days'
          : `of all rules: ${formatCount(client)} because of the rule, ${formatCount(service)} because of an endpoint`;
      return html`
      <${NextSteps} isUnused=${isUnused} />
      <div class="tiles">
        <${Quota} ...${value.month} />
        <${Tile} label="Written today" value=${formatBytes(today.bytes)} note=${`of ${formatBytes(today.bytesMax)} that all apps of the account may write in a day (UTC)`}
          title="Requests, results, webhooks and their answers, rule sets and members of watches." />
        <${Tile} label="Undetermined" value=${formatShare(totals.undeterminedShare)} note=${causes}
          title="Rules that could not be read. They never count as denied." />
        <${Tile} label="Refused with 429" value=${formatCount(totals.refused)} note="requests, last 30 days" />
        <${Tile} label="Time to result" value=${formatMs(totals.p50Ms)} note=${`median; p95 ${formatMs(totals.p95Ms)}`} />
      </div>
      <${UsageCharts} usage=${value} isUnused=${isUnused} />
      ${keys.length > 0 && html`<${KeyUsage} keys=${keys} />`}`;
    })}
    <${Chains} />
  `;
}

/** Whether each chain can be read now. */
function Chains() {
  const options = useResource('GET /api/try-options', {});
  const hint = 'A rule on a chain that cannot be read is undetermined: it takes no role away.';
  return loaded(options, ({ chains }) =>
    when(
      chains.length,
      () =>
        html`<${Card} title="Chains">${rows(
          chains,
          null,
          ({ chainId, name, state, since }) => html`<li key=${chainId}>
          <div class="grow">${name} <span class="sub">${chainId}</span></div>
          <p class="sub facts">${since && html`since <${Time} at=${since} />`}</p>
          <div class="badges"><${StateBadge} of="chain" state=${state} /></div>
        </li>`,
          'inner',
        )}<p class="hint">${hint}</p><//>`,
    ),
  );
}

/** Which keys made the checks of the last 30 days. @param {{ keys: Usage['keys'] }} props */
function KeyUsage({ keys }) {
  const { app } = useApp();
  const mostChecks = Math.max(...keys.map(({ checks }) => checks));
  const nameOf = (keyId) => {
    const key = app.keys.find((one) => one.keyId === keyId);
    if (key) return nameOfKey(key);
    return keyId === 'other' ? 'Other keys' : html`<code class="break">${keyId}</code>`;
  };
  return html`<${Card} title="By API key"><${Table} label="Checks by API key" class="steps-table" heads=${['Key', '#Checks, 30 days', '']}>${keys.map(
    ({
      keyId,
      checks,
    }) => html`<tr key=${keyId}><th scope="row">${nameOf(keyId)}</th><td class="number">${formatCount(checks)}</td>
      <td class="bar-cell"><div class="bar" style=${{ width: `${(checks / mostChecks) * 100}%` }}></div></td></tr>`,
  )}<//>
    <p class="hint">Single checks only: batches are not counted by key.</p>
  <//>`;
}

const Tile = ({ label, value, note, title }) => html`<div class="tile" title=${title}>
  <h2>${label}</h2><p class="figure">${value}</p><p class="sub">${note}</p>
</div>`;

/** @param {Usage['month']} props */
function Quota({ name, used, quota }) {
  const share = quota > 0 ? Math.min(1, used / quota) : 1;
  const ofQuota = `${formatCount(used)} of ${formatCount(quota)}`;
  return html`<div class="tile quota">
    <h2 id="quota-label">Checks in ${MONTH.format(new Date(`${name}-01T00:00:00Z`))}</h2>
    <p class="figure">${formatCount(used)} <span class="of">of ${formatCount(quota)}</span></p>
    <div class=${share >= NEARLY_USED ? 'meter near' : 'meter'} role="meter" aria-labelledby="quota-label" aria-valuemin="0"
      aria-valuemax=${quota} aria-valuenow=${used} aria-valuetext=${ofQuota}>
      <div style=${{ width: `${share * 100}%` }}></div>
    </div>
    <p class="sub">${share >= 1 ? 'Used up: checks are refused until next month' : `${formatCount(quota - used)} left this month`}. ${CHARGED}</p>
  </div>`;
}

/** The remaining steps of a new app's set-up; nothing once it is in use. */
function NextSteps({ isUnused }) {
  const { app, base, may } = useApp();
  const { state } = app.scope;
  if (state === 'approved' && !isUnused) return null;
  const step = (isDone, href, text, note, isMine = true) => html`<li class=${isDone ? 'done' : ''}>
    <span class="tick" aria-hidden="true">${isDone ? '✓' : ''}</span>
    <div>${isDone || !isMine ? html`<span>${text}</span>` : html`<a href=${href}>${text}</a>`}<p class="sub">${isDone ? 'Done' : note}</p></div>
  </li>`;
  const scopeNote =
    state === 'requested'
      ? 'Requested: an operator will look at it.'
      : 'Tell the operators what you are building.';
  return html`<${Card} title="Next steps" class="next-steps"><ol>
    ${step(true, base, 'Create the app', '')}
    ${step(state === 'approved', `${base}/scope`, 'Get the token-gating scope', scopeNote, may('requestScope'))}
    ${step(!isUnused, `${base}/try`, 'Make a first check', 'On this page, with a wallet and a rule of yours.', may('tryCheck'))}
  </ol><//>`;
}
